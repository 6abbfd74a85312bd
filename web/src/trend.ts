// The trend of a row of values.

/** The straight line through the values that is off least, at each of them. */
export function trend(ys: ArrayLike<number>): Float64Array {
  const n = ys.length;
  const middle = (n - 1) / 2;
  let mean = 0;
  for (let i = 0; i < n; i++) mean += ys[i] / n;
  let above = 0;
  let below = 0;
  for (let i = 0; i < n; i++) {
    above += (i - middle) * (ys[i] - mean);
    below += (i - middle) ** 2;
  }
  const slope = below === 0 ? 0 : above / below;
  return Float64Array.from({ length: n }, (_, i) => mean + slope * (i - middle));
}
