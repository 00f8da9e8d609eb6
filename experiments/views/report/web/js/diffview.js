// What a source changed against another: a unified diff, equal stretches folded.
/* global Diff */
import { el, soft } from "./dom.js";

const AROUND = 3;
const LIMIT_MS = 3000;
const LONGEST_LINE = 500;

// {added, removed, element}; element says so where the sources are equal or too far apart.
export function diffView(before, after) {
  if (before === after) return { added: 0, removed: 0, element: soft("The sources are the same.") };
  const parts = Diff.diffArrays(before.split("\n"), after.split("\n"), { timeout: LIMIT_MS });
  if (!parts)
    return {
      added: 0,
      removed: 0,
      element: soft("The sources are too far apart to be compared here."),
    };
  const sum = (kind) =>
    parts.filter((part) => part[kind]).reduce((total, part) => total + part.value.length, 0);
  return {
    added: sum("added"),
    removed: sum("removed"),
    element: el("pre", { class: "code diff scroll", tabindex: 0 }, lines(parts)),
  };
}

function lines(parts) {
  const found = [];
  const at = { before: 1, after: 1 };
  parts.forEach((part, index) => {
    if (
      part.added &&
      index > 0 &&
      parts[index - 1].removed &&
      parts[index - 1].value.length === part.value.length
    )
      return;
    const next = parts[index + 1];
    if (part.removed && next?.added && next.value.length === part.value.length)
      found.push(...replaced(part.value, next.value, at));
    else if (part.removed)
      found.push(...part.value.map((text) => line("del", at.before++, "", [text])));
    else if (part.added)
      found.push(...part.value.map((text) => line("add", "", at.after++, [text])));
    else found.push(...equal(part.value, at, index === 0, index === parts.length - 1));
  });
  return found;
}

// As many lines as before: the words that differ are marked.
function replaced(before, after, at) {
  const removed = [];
  const added = [];
  before.forEach((old, index) => {
    const [gone, come] = words(old, after[index]);
    removed.push(line("del", at.before++, "", gone));
    added.push(line("add", "", at.after++, come));
  });
  return [...removed, ...added];
}

function words(old, fresh) {
  if (old.length > LONGEST_LINE || fresh.length > LONGEST_LINE) return [[old], [fresh]];
  const parts = Diff.diffWordsWithSpace(old, fresh);
  const side = (kind, other) =>
    parts
      .filter((part) => !part[other])
      .map((part) => (part[kind] ? el("mark", {}, part.value) : part.value));
  return [side("removed", "added"), side("added", "removed")];
}

function equal(texts, at, first, last) {
  const all = texts.map((text) => line("same", at.before++, at.after++, [text]));
  const head = first ? 0 : AROUND;
  const tail = last ? 0 : AROUND;
  const hidden = all.length - head - tail;
  if (hidden < 4) return all;
  const inner = all.slice(head, all.length - tail);
  const fold = el(
    "button",
    { type: "button", class: "fold", onclick: () => fold.replaceWith(...inner) },
    `… ${hidden} equal lines`,
  );
  return [...all.slice(0, head), fold, ...all.slice(all.length - tail)];
}

function line(kind, before, after, content) {
  const sign = { del: "−", add: "+", same: " " }[kind];
  return el(
    "span",
    { class: `line ${kind}`, "data-n": `${before}`.padStart(4) + `${after}`.padStart(5) },
    `${sign} `,
    content,
    "\n",
  );
}
