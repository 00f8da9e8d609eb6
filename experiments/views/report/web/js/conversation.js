// What the model was asked, what it replied, and what that took.
import { el, soft } from "./dom.js";
import { facts_ } from "./nodesummary.js";

const TITLES = { system: "Instructions", user: "Prompt", assistant: "Reply", tool: "Look-up" };

export async function conversation({ detail, value }) {
  const asked = await Promise.all((detail.talks ?? []).map((number) => value(number)));
  return [
    facts_(detail.usage ?? []),
    asked.length
      ? null
      : soft(
          "The texts were not kept: the run folder holds neither a cache of answers nor a recording that has them.",
        ),
    asked.map((said, at) => [
      asked.length > 1 ? el("h4", {}, `Question ${at + 1} of ${asked.length}`) : null,
      said.map(([role, text], place) => message(role, text, place === said.length - 1)),
    ]),
  ];
}

function message(role, text, open) {
  const size = text.length.toLocaleString("en");
  return el(
    "details",
    { class: `message ${role}`, open },
    el(
      "summary",
      {},
      el("b", {}, TITLES[role] ?? role),
      " ",
      el("span", { class: "soft" }, `${size} characters`),
    ),
    el("pre", { class: "code scroll wrap", tabindex: 0 }, text),
  );
}
