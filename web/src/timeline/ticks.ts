// Steps between the marks of axes: powers of two for bytes, the usual ones for time and counts.

/** Steps of bytes: 1, 2, 4 … of each unit. */
export const BYTE_STEPS: number[] = Array.from({ length: 50 }, (_, power) => 2 ** power);

/** 1, 2, 5, 10 … */
export const DECIMAL_STEPS: number[] = Array.from({ length: 14 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

const SECOND = 1e9;

/** Steps of nanoseconds: decimal up to a minute, then as clocks have them. */
export const TIME_STEPS: number[] = [
  ...DECIMAL_STEPS.filter((step) => step <= 20 * SECOND),
  ...[30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400].map((seconds) => seconds * SECOND),
];

/** Where a row of labels would collide, which to leave out: those nearer than `gap` to the last kept. */
export function thinned(positions: number[], gap: number): number[] {
  const kept: number[] = [];
  positions.forEach((position, index) => {
    if (kept.length === 0 || position - positions[kept[kept.length - 1]] >= gap) kept.push(index);
  });
  return kept;
}
