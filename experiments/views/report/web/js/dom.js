// Elements from plain values. Text becomes text nodes, never markup: nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

export function replace(node, ...children) {
  node.replaceChildren(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined),
  );
}

export function section(name, title, ...content) {
  return el("section", { id: name }, el("h2", {}, title), ...content);
}

export function soft(text) {
  return el("p", { class: "soft" }, text);
}
