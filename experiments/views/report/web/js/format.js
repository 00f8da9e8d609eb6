// Numbers as people read them. Null is what is not known, and shows as nothing.

export const times = (value) =>
  value === null || value === undefined ? "" : `${value.toFixed(2)}×`;
export const micro = (value) =>
  value === null || value === undefined ? "" : `${digits(value)} µs`;
export const count = (value) =>
  value === null || value === undefined ? "" : value.toLocaleString("en");
export const percent = (share) =>
  share === null || share === undefined ? "" : `${Math.round(100 * share)} %`;

export function digits(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 0 });
  if (size >= 100) return value.toFixed(1);
  if (size >= 1 || size === 0) return String(Number(value.toFixed(2)));
  return String(Number(value.toPrecision(3)));
}

// A round number at an axis.
export const tick = (value) =>
  Math.abs(value) >= 1000 ? value.toLocaleString("en") : String(Number(value.toPrecision(3)));

export function interval(low, high) {
  return low === null || low === undefined ? "" : `${low.toFixed(2)} to ${high.toFixed(2)}`;
}

export function duration(seconds) {
  if (seconds < 120) return `${digits(seconds)} s`;
  return seconds < 7200 ? `${digits(seconds / 60)} min` : `${digits(seconds / 3600)} h`;
}

export function money(dollars) {
  return `$${dollars >= 1 ? dollars.toFixed(2) : Number(dollars.toPrecision(2))}`;
}
