// Amounts as people read them, in the same words as the command line.

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB"];

/** `1.50 GiB`, as crates/trace prints it. */
export function bytes(amount: number): string {
  if (amount < 0) return `−${bytes(-amount)}`;
  if (amount < 1024) return `${Math.round(amount)} B`;
  let scaled = amount / 1024;
  let unit = 0;
  // 1023.995 would print as 1024.00: it belongs to the next unit.
  while (scaled >= 1023.995 && unit + 1 < UNITS.length) {
    scaled /= 1024;
    unit++;
  }
  return `${scaled.toFixed(2)} ${UNITS[unit]}`;
}

/** `1.5 GiB`: for axes, without needless digits. */
export function shortBytes(amount: number): string {
  return bytes(amount).replace(/\.?0+(?= [KMGTP]iB)/, "");
}

/** `31,675`. */
export function count(n: number): string {
  return Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** `10 blocks`, `1 block`. */
export function counted(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** `87.7 %`. */
export function percent(share: number): string {
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  const digits = share >= 0.9995 || share === 0 ? 0 : 1;
  return `${(share * 100).toFixed(digits)} %`;
}

const SECOND = 1e9;

/** `3.2 s`, of nanoseconds; `step` is the smallest difference that must be seen, a tenth or so where nobody says. */
export function duration(nanoseconds: number, step = secondDigit(nanoseconds)): string {
  const size = Math.abs(nanoseconds);
  if (size >= 120 * SECOND) return minutes(nanoseconds, step);
  const [divisor, unit] = size >= SECOND ? [SECOND, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  if (nanoseconds === 0) return "0 s";
  const digits = unit === "ns" ? 0 : Math.min(6, Math.max(0, Math.ceil(-Math.log10(step / divisor) - 1e-9)));
  return `${(nanoseconds / divisor).toFixed(digits)} ${unit}`;
}

function secondDigit(value: number): number {
  return 10 ** (Math.floor(Math.log10(Math.max(1, Math.abs(value)))) - 1);
}

function minutes(nanoseconds: number, step: number): string {
  const digits = step >= SECOND ? 0 : Math.min(6, Math.ceil(-Math.log10(step / SECOND)));
  const seconds = Number((nanoseconds / SECOND).toFixed(digits));
  const hours = Math.floor(seconds / 3600);
  const rest = (seconds % 60).toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  const middle = Math.floor((seconds % 3600) / 60);
  return hours ? `${hours} h ${String(middle).padStart(2, "0")} min` + (step < 60 * SECOND ? ` ${rest} s` : "") : `${middle} min ${rest} s`;
}

/** The last parts of a path: enough to know the file by. */
export function shortFile(path: string): string {
  const parts = path.split("/");
  return parts.length > 3 ? parts.slice(-2).join("/") : path;
}

/** With a capital letter and a full stop. */
export function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
