// Light or dark: as the system has it, or as the reader wants it for this page.
import { el } from "./dom.js";

const NAMES = ["auto", "light", "dark"];

export function themeButton() {
  let at = 0;
  const button = el("button", {
    type: "button",
    class: "theme",
    onclick: () => {
      at = (at + 1) % NAMES.length;
      show();
    },
  });
  const show = () => {
    if (NAMES[at] === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = NAMES[at];
    button.textContent = `Colours: ${NAMES[at]}`;
  };
  show();
  return button;
}
