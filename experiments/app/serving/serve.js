"use strict";
// Follows the runs: cells of the list, and the report of a run that goes on.
const EVERY_MS = 2000;
const REPORT_MS = 6000;

function show(place, row) {
  for (const cell of place.querySelectorAll("[data-cell]")) {
    const text = row[cell.dataset.cell];
    if (cell.textContent !== text) cell.textContent = text;
    if (cell.dataset.cell === "state") cell.dataset.state = row.state;
  }
  place.dataset.version = row.version;
}

async function rowsOf(address) {
  const answer = await fetch(address, { cache: "no-store" });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

async function followList() {
  const rows = await rowsOf("runs.json");
  const known = new Map();
  for (const place of document.querySelectorAll("tr[data-id]")) known.set(place.dataset.id, place);
  const same = rows.length === known.size && rows.every((row) => known.has(row.id));
  if (!same) return location.reload();
  for (const row of rows) {
    const place = known.get(row.id);
    if (place.dataset.version !== row.version) show(place, row);
  }
}

async function followRun(section) {
  const row = await rowsOf(section.dataset.at + "run.json");
  if (section.dataset.version === row.version) return;
  show(section, row);
  const frame = section.querySelector("iframe");
  const now = Date.now();
  const wait = REPORT_MS - (now - Number(section.dataset.shown || 0));
  if (section.dataset.waiting) return;
  section.dataset.waiting = "1";
  setTimeout(() => {
    delete section.dataset.waiting;
    section.dataset.shown = String(Date.now());
    const inside = frame.contentWindow;
    const down = inside.scrollY;
    frame.addEventListener("load", () => frame.contentWindow.scrollTo(0, down), { once: true });
    inside.location.reload();
  }, Math.max(0, wait));
}

async function follow() {
  try {
    if (document.body.classList.contains("list")) await followList();
    for (const section of document.querySelectorAll("[data-follow]")) await followRun(section);
    document.body.dataset.lost = "";
  } catch {
    document.body.dataset.lost = "1"; // the server has ended: what is shown stays
  }
  setTimeout(follow, EVERY_MS);
}

if (!document.body.classList.contains("message")) setTimeout(follow, EVERY_MS);
