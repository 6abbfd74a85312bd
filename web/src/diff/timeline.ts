// Both runs over time, on one scale.
import uPlot from "uplot";
import { choice } from "../controls";
import { h, onWidth } from "../dom";
import { bytes, count, duration, percent, shortBytes } from "../format";
import { BYTE_STEPS, DECIMAL_STEPS, TIME_STEPS } from "../timeline/ticks";
import { Tooltip, figure } from "../timeline/tooltip";
import { type Along, curveOf, ways } from "./curve";
import type { DiffRank } from "./data";
import type { DiffSection, State } from "./state";

export const timeline: DiffSection = {
  id: "timeline",
  title: "Memory over time",
  isShown: ({ current }) => current !== null && current.timelines.some((each) => each !== null),
  mount,
};

const WORDS: Record<Along, string> = { time: "Time", iteration: "Iterations", events: "Events" };
const SIDES = ["A", "B"];
/** B is dashed: colours are not all that tells the runs apart. */
const DASHES = [undefined, [7, 4]];
const HEIGHT = 340;

function mount(body: HTMLElement, state: State): () => void {
  const rank = state.current;
  if (!rank) return () => {};
  const options = ways(rank.timelines);
  let along = options[0];
  const frame = h("div", { class: "chart both", role: "img", "aria-label": spoken(rank) });
  let plot: uPlot | null = null;
  const draw = (width: number) => {
    plot?.destroy();
    frame.replaceChildren();
    plot = draws(frame, state, rank, along, width);
  };
  const redraw = () => draw(frame.clientWidth);
  body.append(
    h("p", { class: "summary" }, summary(rank)),
    options.length > 1 ? h("div", { class: "toolbar" }, choice<Along>("Along", options.map((each) => [each, WORDS[each]]), along, (next) => ((along = next), redraw()))) : "",
    frame,
    legend(rank),
  );
  const undo = [onWidth(frame, draw), state.dark.watch(redraw)];
  return () => (undo.forEach((f) => f()), plot?.destroy());
}

function summary({ timelines }: DiffRank): string {
  const missing = SIDES.filter((_, i) => timelines[i] === null);
  const told = missing.length > 0 ? ` ${missing.join(" and ")} was saved without its course.` : "";
  return `Both runs from their start, on one scale.${told}`;
}

function spoken({ a, b }: DiffRank): string {
  return `Memory over time: A peaks at ${bytes(a.peak_bytes)}, B at ${bytes(b.peak_bytes)}`;
}

function legend({ timelines }: DiffRank): HTMLElement {
  const entry = (side: string, what: string) => h("li", {}, h("span", { class: `key run-${side.toLowerCase()} ${what}`, "aria-hidden": "true" }), `${side}, ${what}`);
  const known = SIDES.filter((_, i) => timelines[i] !== null);
  return h("ul", { class: "legend" }, ...known.flatMap((side) => [entry(side, "allocated"), entry(side, "reserved")]));
}

function label(along: Along, x: number, step?: number): string {
  if (along === "time") return duration(x, step);
  if (along === "events") return percent(x);
  return x < 0 ? "before" : count(Math.floor(x));
}

function draws(frame: HTMLElement, state: State, rank: DiffRank, along: Along, width: number): uPlot {
  const colours = state.palette;
  const runs = rank.timelines.map((each) => (each ? curveOf(each, along) : null));
  const tables = runs.map((run): uPlot.AlignedData => (run ? [run.x, run.allocated, run.reserved] : [[], [], []]));
  const data = uPlot.join(tables);
  const axis = { stroke: colours.muted, font: "12px system-ui, sans-serif", ticks: { show: false }, gap: 8 };
  const paths = uPlot.paths.stepped?.({ align: -1 });
  const line = (side: number, reserved: boolean): uPlot.Series => ({
    stroke: colours.series(side),
    width: reserved ? 1.5 : 2,
    alpha: reserved ? 0.75 : 1,
    dash: reserved ? [2, 3] : DASHES[side],
    fill: !reserved && side === 0 ? `${colours.series(0)}22` : undefined,
    paths,
    spanGaps: true,
    points: { show: false },
  });
  const tooltip = new Tooltip();
  const plot = new uPlot(
    {
      width,
      height: HEIGHT,
      padding: [12, 12, 0, 0],
      cursor: { y: false, drag: { x: true, y: false }, points: { show: false } },
      legend: { show: false },
      scales: { x: { time: false }, y: { range: (_plot, _min, max) => [0, Math.max(1, max) * 1.06] } },
      axes: [
        { ...axis, grid: { show: false }, space: 80, incrs: along === "time" ? TIME_STEPS : along === "iteration" ? DECIMAL_STEPS : undefined, values: (_plot, splits, _axis, _space, step) => splits.map((x) => label(along, x, step)) },
        { ...axis, grid: { stroke: colours.line, width: 1 }, size: width < 500 ? 64 : 76, space: 44, incrs: BYTE_STEPS, values: (_plot, splits) => splits.map(shortBytes) },
      ],
      series: [{}, line(0, false), line(0, true), line(1, false), line(1, true)],
      hooks: { setCursor: [(plot) => hovered(plot, along, tooltip, frame)] },
    },
    data,
    frame,
  );
  frame.append(tooltip.element);
  return plot;
}

/** What both runs had under the cursor. */
function hovered(plot: uPlot, along: Along, tooltip: Tooltip, frame: HTMLElement): void {
  const { idx, left, top } = plot.cursor;
  if (idx === null || idx === undefined || (left ?? -1) < 0) return tooltip.hide();
  const at = (series: number): number | null => {
    const column = plot.data[series];
    for (let i = idx; i < column.length; i++) if (column[i] !== null && column[i] !== undefined) return column[i] as number;
    return null;
  };
  const lines: HTMLElement[] = [h("div", { class: "when" }, label(along, plot.data[0][idx]))];
  ["A, allocated", "A, reserved", "B, allocated", "B, reserved"].forEach((name, i) => {
    const amount = at(i + 1);
    if (amount !== null) lines.push(figure(name, bytes(amount)));
  });
  tooltip.show(lines, (left ?? 0) + plot.over.offsetLeft, top ?? 0, frame);
}
