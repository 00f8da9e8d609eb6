// Builds the page from its data.
import { el, replace } from "./dom.js";
import { Packed } from "./packed.js";
import { Run } from "./run.js";
import { Explorer } from "./explorer.js";
import { progress } from "./progress.js";
import { roofline } from "./roofline.js";
import { tunables } from "./tunables.js";
import { methods, tools, failures, account } from "./judged.js";
import { themeButton } from "./theme.js";

const FORMAT = 1;

function build() {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (data.format !== FORMAT)
    throw new Error(`this page reads format ${FORMAT}, its data is ${data.format}`);
  const run = new Run(data);
  const explorer = new Explorer(run, new Packed(data.blocks));
  const select = (row) => {
    explorer.select(row);
    explorer.element.scrollIntoView({ block: "start" });
  };
  const sections = [
    explorer.element,
    progress(run, select),
    tunables(run, select),
    roofline(run, select),
    methods(run, select),
    tools(run),
    failures(run, select),
    account(run),
  ].filter(Boolean);
  document.documentElement.classList.add("js");
  replace(document.getElementById("app"), sections);
  document.querySelector("header.top").prepend(navigation());
  follow(run, explorer);
}

function navigation() {
  const titles = [...document.querySelectorAll("main section[id]")].filter(
    (each) => !each.closest(".without-script"),
  );
  const short = {
    best: "Best",
    facts: "Run",
    tree: "Tree",
    progress: "Progress",
    tunables: "Tunables",
    roofline: "Roofline",
    methods: "Methods",
    tools: "Tools",
    failures: "Failures",
    account: "Cost",
    picture: "Picture",
  };
  return el(
    "nav",
    { class: "sections", "aria-label": "Sections" },
    titles.map((each) => el("a", { href: `#${each.id}` }, short[each.id] ?? each.id)),
    themeButton(),
  );
}

// The address names the node that is shown; without one it is the best.
function follow(run, explorer) {
  const named = () => {
    const found = /^#node-(\d+)$/.exec(location.hash);
    return found ? run.rowOf.get(Number(found[1])) : undefined;
  };
  addEventListener("hashchange", () => named() !== undefined && explorer.select(named()));
  const row = named();
  if (row !== undefined) explorer.select(row);
  else {
    explorer.grid.select(run.best, { tell: false });
    explorer.page.show(run.best);
  }
}

// A browser that cannot unpack the data keeps the page as it is without scripts.
if (typeof DecompressionStream === "function") build();
