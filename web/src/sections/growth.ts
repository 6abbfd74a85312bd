// What stays from iteration to iteration.
import uPlot from "uplot";
import { bar } from "../controls";
import type { Growth, Space } from "../data";
import { values } from "../decode";
import { h, onWidth } from "../dom";
import { bytes, count, counted, shortBytes } from "../format";
import type { Page, Section } from "../page";
import { Tooltip, figure } from "../timeline/tooltip";
import { BYTE_STEPS, DECIMAL_STEPS } from "../timeline/ticks";
import { trend } from "../trend";

export const growth: Section = {
  id: "growth",
  title: "Growth per iteration",
  ofSpace: true,
  state(page) {
    if (!page.hasSpaces) return "hide";
    const { iterations, growth: found } = page.current.data;
    if (iterations || found) return "show";
    return { instead: 'No iterations were detected in this run. Call whyoom.mark(iteration=True) once per iteration to see what grows.' };
  },
  mount,
};

function mount(body: HTMLElement, page: Page): () => void {
  const { iterations, growth: found } = page.current.data;
  body.append(h("p", { class: "summary" }, summary(found, iterations)));
  const undo = iterations ? mountChart(body, page, values(iterations.bytes), iterations.every, grows(found)) : () => {};
  if (found && found.stacks.length > 0) body.append(h("h3", {}, "What was kept"), stayed(page, found));
  return undo;
}

function grows(found: Growth | null): found is Growth {
  return found !== null && found.per_iteration_bytes > 0;
}

function mountChart(body: HTMLElement, page: Page, inUse: Float64Array, every: number, growing: boolean): () => void {
  const frame = h("div", { class: "chart small", role: "img", "aria-label": "Bytes in use at the start of each iteration" });
  body.append(frame, key(every, growing));
  let plot: uPlot | null = null;
  const draw = (width: number) => {
    plot?.destroy();
    frame.replaceChildren();
    plot = barPlot(frame, page, inUse, every, growing, width);
  };
  const undo = [onWidth(frame, draw), page.dark.watch(() => draw(frame.clientWidth))];
  return () => (undo.forEach((f) => f()), plot?.destroy());
}

function key(every: number, growing: boolean): HTMLElement {
  const entry = (shape: string, text: string) => h("li", {}, h("span", { class: `key ${shape}`, "aria-hidden": "true" }), text);
  return h("ul", { class: "legend" }, entry("block", every === 1 ? "in use when each iteration began" : `in use when every ${count(every)}th iteration began`), growing ? entry("trend", "trend") : null);
}

function summary(found: Growth | null, iterations: Space["iterations"]): string {
  const told = iterations ? ` Iterations detected by ${iterations.found_by}.` : "";
  if (!grows(found)) return `In use when ${counted((iterations?.bytes.length ?? 0) * (iterations?.every ?? 1), "iteration")} began; nothing grows.${told}`;
  const [least, most] = found.interval_bytes;
  const sure = least === most ? "" : ` (at 95 % confidence ${bytes(least)} to ${bytes(most)})`;
  return (
    `${bytes(found.per_iteration_bytes)} more per iteration${sure}; ` +
    `${bytes(found.total_bytes)} over ${counted(found.iterations, "iteration")}.${told}`
  );
}

/** What the iteration under the cursor says. */
function hovered(plot: uPlot, inUse: Float64Array, every: number, tooltip: Tooltip, frame: HTMLElement): void {
  const { idx, left, top } = plot.cursor;
  if (idx === null || idx === undefined || (left ?? -1) < 0) return tooltip.hide();
  const before = idx > 0 ? inUse[idx] - inUse[idx - 1] : 0;
  const lines = [h("div", { class: "when" }, `Iteration ${count(idx * every + 1)}`), figure("in use at its start", bytes(inUse[idx]))];
  if (idx > 0) lines.push(figure(every === 1 ? "change from the previous one" : `change from ${count(every)} before`, `${before < 0 ? "" : "+"}${bytes(before)}`));
  tooltip.show(lines, (left ?? 0) + plot.over.offsetLeft, top ?? 0, frame);
}

function barPlot(frame: HTMLElement, page: Page, inUse: Float64Array, every: number, growing: boolean, width: number): uPlot {
  const tooltip = new Tooltip();
  const colours = page.palette;
  const axis = { stroke: colours.muted, font: "12px system-ui, sans-serif", ticks: { show: false } };
  const xs = Float64Array.from(inUse, (_, i) => i * every + 1);
  const plot = new uPlot(
    {
      width,
      height: 220,
      padding: [12, 8, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      legend: { show: false },
      scales: {
        x: { time: false, range: () => [1 - 0.6 * every, xs[xs.length - 1] + 0.6 * every] },
        y: { range: (_plot, _min, max) => [0, Math.max(1, max) * 1.08] },
      },
      axes: [
        { ...axis, grid: { show: false }, incrs: DECIMAL_STEPS, values: (_plot, splits) => splits.map((i) => (Number.isInteger(i) && i > 0 ? count(i) : "")) },
        { ...axis, grid: { stroke: colours.line, width: 1 }, size: width < 500 ? 64 : 76, incrs: BYTE_STEPS, values: (_plot, splits) => splits.map(shortBytes) },
      ],
      series: [
        {},
        {
          fill: colours.dark ? "#5876b8" : "#a9bdf0",
          stroke: colours.dark ? "#5876b8" : "#a9bdf0",
          width: 0,
          paths: uPlot.paths.bars?.({ size: [0.7, 60] }),
          points: { show: false },
        },
        { show: growing, stroke: colours.danger, width: 2, dash: [6, 4], points: { show: false } },
      ],
      hooks: { setCursor: [(plot) => hovered(plot, inUse, every, tooltip, frame)] },
    },
    [xs, inUse, trend(inUse)],
    frame,
  );
  frame.append(tooltip.element);
  return plot;
}

function stayed(page: Page, found: Growth): HTMLElement {
  const most = Math.max(1, ...found.stacks.map((entry) => entry.bytes));
  const rows = found.stacks.map(({ stack, bytes: amount, blocks }) => {
    const place = page.model.place(stack);
    const press = () => page.pinned.set({ title: place, facts: [["Kept", bytes(amount)], ["Blocks", count(blocks)]], stack });
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: press }, place)),
      h("td", { "data-label": "Kept", class: "amount" }, h("span", {}, bytes(amount)), bar(amount / most, "bad")),
      h("td", { "data-label": "Blocks", class: "number" }, count(blocks)),
    );
  });
  const head = ["Call site", "Kept", "Blocks"].map((text) => h("th", { scope: "col" }, text));
  return h("table", { class: "cards" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
}
