// A source with line numbers; lines that a tool named are marked.
import { el } from "./dom.js";
import { highlightedLines } from "./highlight.js";

export function sourceView(source, language, named = []) {
  const marked = new Set(named);
  const lines = highlightedLines(source, language).map((pieces, at) =>
    el(
      "span",
      { class: marked.has(at + 1) ? "line named" : "line", "data-n": at + 1 },
      pieces.map(([kind, text]) => (kind ? el("span", { class: `t-${kind}` }, text) : text)),
      "\n",
    ),
  );
  return el("pre", { class: "code numbered scroll", tabindex: 0 }, el("code", {}, lines));
}
