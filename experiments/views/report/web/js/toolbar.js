// The search and the filters above the tree.
import { el } from "./dom.js";

const WAIT_MS = 120;

// A row of controls that calls `changed` with a filter. `focusSearch` and `clear` act from outside.
export function makeToolbar(run, changed) {
  const search = el("input", {
    type: "search",
    placeholder: "Search: #12, method, change, reason",
    "aria-label": "Search the nodes",
  });
  const lines = run.nodes.given_up.includes(1) ? ["given up"] : [];
  const status = select("Status", [
    "best path",
    "any failure",
    ...lines,
    ...run.nodes.status_names,
  ]);
  const method = select("Method", [...run.nodes.method_names].sort());
  const least = number("Speedup from");
  const most = number("to");
  const controls = [search, status, method, least, most];
  let waiting = 0;
  const tell = () =>
    changed({
      text: search.value,
      status: status.value,
      method: method.value,
      least: value(least),
      most: value(most),
    });
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(tell, WAIT_MS);
  });
  for (const control of controls.slice(1)) control.addEventListener("input", tell);
  const clear = () => {
    for (const control of controls) control.value = "";
    tell();
  };
  const bar = el(
    "div",
    { class: "toolbar" },
    search,
    status,
    method,
    el("span", { class: "range" }, el("span", {}, "speedup"), least, el("span", {}, "to"), most),
    el("button", { type: "button", onclick: clear }, "Clear"),
  );
  return { bar, clear, focusSearch: () => search.focus() };
}

function select(label, names) {
  return el(
    "select",
    { "aria-label": label },
    el("option", { value: "" }, `${label}: all`),
    names.map((name) => el("option", { value: name }, name)),
  );
}

function number(label) {
  return el("input", {
    type: "number",
    min: 0,
    step: "any",
    placeholder: label === "to" ? "any" : "0",
    "aria-label": label === "to" ? "Speedup up to" : label,
  });
}

function value(input) {
  return input.value === "" || !Number.isFinite(Number(input.value)) ? null : Number(input.value);
}
