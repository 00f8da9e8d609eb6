// A node's number as a link to its page.
import { el } from "./dom.js";

export function nodeLink(run, row, select, text = null) {
  const id = run.nodes.id[row];
  return el(
    "a",
    {
      href: `#node-${id}`,
      class: "node-link",
      onclick: (event) => {
        event.preventDefault();
        select(row);
      },
    },
    text ?? `node ${id}`,
  );
}
