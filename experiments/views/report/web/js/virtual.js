// A list of any length of which only the rows in sight exist. Rows are all equally high.

const MARGIN = 8;

export class VirtualList {
  constructor({ viewport, height, make }) {
    this.viewport = viewport;
    this.height = height;
    this.make = make;
    this.length = 0;
    this.sizer = document.createElement("div");
    this.sizer.className = "sizer";
    this.sizer.setAttribute("role", "presentation");
    viewport.append(this.sizer);
    viewport.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(viewport);
  }

  show(length) {
    this.length = length;
    this.sizer.style.height = `${length * this.height}px`;
    this.draw();
  }

  draw() {
    const seen = Math.ceil(this.viewport.clientHeight / this.height);
    const first = Math.max(0, Math.floor(this.viewport.scrollTop / this.height) - MARGIN);
    const last = Math.min(this.length, first + seen + 2 * MARGIN);
    const rows = [];
    for (let at = first; at < last; at += 1) {
      const row = this.make(at);
      row.style.transform = `translateY(${at * this.height}px)`;
      rows.push(row);
    }
    this.sizer.replaceChildren(...rows);
  }

  reveal(at) {
    const top = at * this.height;
    const view = this.viewport;
    if (top < view.scrollTop) view.scrollTop = top - this.height;
    else if (top + this.height > view.scrollTop + view.clientHeight)
      view.scrollTop = top + 2 * this.height - view.clientHeight;
    this.draw();
  }

  get page() {
    return Math.max(1, Math.floor(this.viewport.clientHeight / this.height) - 1);
  }
}
