// The frame of a chart as SVG: axes, grid, a place to draw, and what stands under the pointer.
import { el, svg, replace } from "./dom.js";
import { linear, logarithmic } from "./scales.js";

const MARGIN = { left: 52, right: 14, top: 12, bottom: 40 };

// Calls draw(width) now and whenever the width changes.
export function responsive(draw) {
  const holder = el("div", { class: "chart" });
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.floor(holder.clientWidth);
    if (width < 50 || width === drawn) return;
    drawn = width;
    replace(holder, draw(width));
  }).observe(holder);
  holder.redraw = () => {
    if (drawn) replace(holder, draw(drawn));
  };
  return holder;
}

// x and y: {domain, label, log, format}. Returns {element, plot, sx, sy}; `plot` is clipped.
export function frame({ width, height, x, y, label }) {
  const right = width - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  const sx = (x.log ? logarithmic : linear)(x.domain, [MARGIN.left, right]);
  const sy = (y.log ? logarithmic : linear)(y.domain, [bottom, MARGIN.top]);
  const across = sx.ticks(Math.max(3, width / 90));
  const up = sy.ticks(Math.max(3, height / 50));
  const plot = svg("g");
  const element = svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    across.map((value) => [
      svg("line", { x1: sx(value), x2: sx(value), y1: MARGIN.top, y2: bottom, class: "gridline" }),
      svg(
        "text",
        { x: sx(value), y: bottom + 16, "text-anchor": "middle", class: "tick" },
        x.format(value),
      ),
    ]),
    up.map((value) => [
      svg("line", { x1: MARGIN.left, x2: right, y1: sy(value), y2: sy(value), class: "gridline" }),
      svg(
        "text",
        { x: MARGIN.left - 6, y: sy(value) + 4, "text-anchor": "end", class: "tick" },
        y.format(value),
      ),
    ]),
    svg(
      "text",
      { x: (MARGIN.left + right) / 2, y: height - 6, "text-anchor": "middle", class: "axis" },
      x.label,
    ),
    svg(
      "text",
      {
        x: 0,
        y: 0,
        "text-anchor": "middle",
        class: "axis",
        transform: `translate(12 ${(MARGIN.top + bottom) / 2}) rotate(-90)`,
      },
      y.label,
    ),
    plot,
  );
  return { element, plot, sx, sy };
}

// Dots of one kind as a single path: thousands cost no more than one.
export function dots(places, classes) {
  return svg("path", {
    d: places.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join(""),
    class: `dots ${classes}`,
  });
}

// Tells what is next to the pointer, and selects it on a click. places: [{x, y, row, text}].
export function pointing(element, places, select) {
  const tip = svg("text", { class: "tip", "text-anchor": "middle" });
  const ring = svg("circle", { r: 6, class: "ring" });
  const nearest = (event) => {
    const box = element.getBoundingClientRect();
    const scale = element.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    let found = null;
    let least = 24 * 24;
    for (const place of places) {
      const distance = (place.x - x) ** 2 + (place.y - y) ** 2;
      if (distance < least) [found, least] = [place, distance];
    }
    return found;
  };
  element.addEventListener("pointermove", (event) => {
    const place = nearest(event);
    element.classList.toggle("on-point", Boolean(place));
    if (!place) {
      ring.remove();
      tip.remove();
      return;
    }
    const half = place.text.length * 3.4;
    const width = element.viewBox.baseVal.width;
    tip.textContent = place.text;
    tip.setAttribute("x", Math.min(width - half, Math.max(half, place.x)));
    tip.setAttribute("y", place.y > 34 ? place.y - 12 : place.y + 24);
    ring.setAttribute("cx", place.x);
    ring.setAttribute("cy", place.y);
    element.append(ring, tip);
  });
  element.addEventListener("pointerleave", () => {
    ring.remove();
    tip.remove();
  });
  element.addEventListener("click", (event) => {
    const place = nearest(event);
    if (place) select(place.row);
  });
}
