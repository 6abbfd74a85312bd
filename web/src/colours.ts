// Colours that people with any colour vision can tell apart (after Okabe and Ito, and Paul Tol), for both themes.

const LIGHT = ["#4477aa", "#ee7733", "#228833", "#aa3377", "#66ccee", "#ccbb44", "#882255", "#44aa99", "#bb5566", "#332288", "#999933", "#cc99bb", "#0077bb", "#cc3311", "#117733", "#ee3377"];
const DARK = ["#77aadd", "#ee8866", "#44bb99", "#d685b5", "#99ddff", "#eedd88", "#c2628f", "#5fc4b4", "#ff9d9d", "#8f7ee0", "#bbcc33", "#d8b4d0", "#33bbee", "#ee7755", "#66c28a", "#ff77aa"];

export interface Palette {
  dark: boolean;
  /** Of bands and places, by number. */
  series(index: number): string;
  rest: string;
  ink: string;
  muted: string;
  line: string;
  surface: string;
  accent: string;
  danger: string;
  free: string;
}

export function palette(dark: boolean): Palette {
  const series = dark ? DARK : LIGHT;
  const shades = dark
    ? { rest: "#4a5160", ink: "#e8eaf0", muted: "#99a1b3", line: "#2b303b", surface: "#171a21", accent: "#7aa2ff", danger: "#ff7b72", free: "#20242d" }
    : { rest: "#c3c9d4", ink: "#1b2030", muted: "#5c6577", line: "#e4e7ed", surface: "#ffffff", accent: "#2f5bd7", danger: "#c62828", free: "#eef0f4" };
  return { dark, ...shades, series: (index) => series[index % series.length] };
}
