// Scales of charts: from a value to a place, with ticks at round numbers.

export function linear([low, high], [from, to]) {
  const span = high - low || 1;
  const scale = (value) => from + ((value - low) / span) * (to - from);
  scale.ticks = (wanted) => {
    const raw = span / Math.max(1, wanted);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((each) => each * power >= raw);
    const ticks = [];
    for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step)
      ticks.push(Number(at.toPrecision(12)));
    return ticks;
  };
  return scale;
}

export function logarithmic([low, high], [from, to]) {
  const [first, last] = [Math.log10(low), Math.log10(high)];
  const span = last - first || 1;
  const scale = (value) => from + ((Math.log10(value) - first) / span) * (to - from);
  scale.ticks = (wanted) => {
    const steps = span * 3 <= wanted ? [1, 2, 5] : [1];
    const ticks = [];
    for (let power = Math.floor(first); power <= Math.ceil(last); power += 1) {
      for (const step of steps) {
        const value = step * 10 ** power;
        if (value >= low * 0.9999 && value <= high * 1.0001)
          ticks.push(Number(value.toPrecision(6)));
      }
    }
    return ticks;
  };
  return scale;
}
