// Whether a run fits on GPUs that are not here.
import uPlot from "uplot";
import { bar, pasteLine } from "../controls";
import type { Fit, FitProcess, Generation, Part, Vary } from "../documents";
import { h, onWidth } from "../dom";
import { bytes, count, shortBytes } from "../format";
import type { Page, Section } from "../page";
import { Tooltip, figure } from "../timeline/tooltip";
import { BYTE_STEPS, DECIMAL_STEPS } from "../timeline/ticks";

export const fit: Section = {
  id: "fit",
  title: "Will it fit?",
  ofSpace: false,
  state: (page) => (page.model.report.fit ? "show" : "hide"),
  mount(body, page) {
    const document = page.model.report.fit as Fit;
    if (document.gpus.length > 0) body.append(gpuTable(document));
    body.append(...document.gpus.flatMap((gpu) => gpu.processes.flatMap((process) => fitsWith(gpu.name, process))));
    body.append(...document.gpus.flatMap(({ name, failure }) => (failure ? [h("p", {}, `On ${name} the program ${failure}`)] : [])));
    if (document.generation) body.append(...tokens(document.generation));
    const undo = document.vary ? mountVary(body, document.vary, page) : () => {};
    for (const peak of document.peaks) body.append(h("h3", {}, `The peak on ${peak.ran_on}`), parts(peak.kinds), parts(peak.places));
    if (document.assertions.length > 0) body.append(assertions(document));
    if (document.notes.length > 0) body.append(notes(document));
    return undo;
  },
};

function gpuTable(document: Fit): HTMLElement {
  const head = ["GPU", "Fits", "Peak", "Headroom"];
  const rows = document.gpus.flatMap((gpu) =>
    gpu.failure ? [noAnswer(gpu.name, gpu.total_bytes)] : gpu.processes.map((process) => {
      const rank = gpu.processes.length > 1 ? `rank ${process.rank}` : "";
      const left = process.headroom_bytes < 0 ? `${bytes(-process.headroom_bytes)} short` : bytes(process.headroom_bytes);
      const tone = process.fits ? "good" : "bad";
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, gpu.name, h("span", { class: "id" }, [rank, `${bytes(gpu.total_bytes)} total`].filter(Boolean).join(", "))),
        h("td", { "data-label": "Fits", class: `fits ${tone}` }, process.fits ? "fits" : (process.obstacle ?? "does not fit").replace("-", " ")),
        h("td", { "data-label": "Peak", class: "amount" }, h("span", {}, bytes(process.peak_bytes)), bar(process.peak_bytes / gpu.total_bytes, tone)),
        h("td", { "data-label": "Headroom", class: "number" }, left),
      );
    }),
  );
  return h(
    "table",
    { class: "cards" },
    h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, ...rows),
  );
}

function noAnswer(gpu: string, total: number): HTMLElement {
  const name = h("th", { scope: "row" }, gpu, h("span", { class: "id" }, `${bytes(total)} total`));
  const cells = ["Peak", "Headroom"].map((label) => h("td", { "data-label": label }, "–"));
  return h("tr", {}, name, h("td", { "data-label": "Fits", class: "fits bad" }, "no answer"), ...cells);
}

/** Up to how many tokens a generation fits that was not run to its end. */
function tokens(generation: Generation): HTMLElement[] {
  const { new_tokens, run_tokens, sequences, prompt_tokens } = generation;
  const asked = `${count(sequences)} sequences with a prompt of ${count(prompt_tokens)} tokens: ${count(run_tokens)} of ${count(new_tokens)} new tokens were run, the rest was computed from those.`;
  const items = generation.largest.map(({ gpu, room_bytes, new_tokens: fitting }) =>
    h("li", {}, h("b", {}, gpu), `: ${fitting >= new_tokens ? "all" : "up to"} ${count(fitting)} new tokens fit (space for ${bytes(room_bytes)})`),
  );
  return [h("h3", {}, "New tokens that fit"), h("p", {}, asked), h("ul", {}, ...items)];
}

function fitsWith(gpu: string, process: FitProcess): HTMLElement[] {
  const saved = process.fits_with;
  if (!saved) return [];
  return [
    h("p", { class: "fits-with" }, `On ${gpu} it fits with ${saved.setting}: at most ${bytes(saved.peak_reserved_bytes)} reserved, proven by replay.`),
    pasteLine(saved.paste, "the line"),
  ];
}

function mountVary(body: HTMLElement, vary: Vary, page: Page): () => void {
  const frame = h("div", { class: "chart small" });
  const list = vary.largest.map(({ gpu, value, room_bytes, confirmed, is_last }) => {
    const largest = value === null ? `no ${vary.name} of the range fits` : `${vary.name} ${count(value)}${is_last ? ", the last of the range" : ""}`;
    return h("li", {}, h("b", {}, gpu), `: ${largest} (space for ${bytes(room_bytes)}${confirmed ? ", confirmed by running it" : ""})`);
  });
  body.append(h("h3", {}, `Peak reserved by ${vary.name}`), h("ul", {}, ...list), frame);
  let plot: uPlot | null = null;
  const draw = (width: number) => {
    plot?.destroy();
    frame.replaceChildren();
    plot = varyPlot(frame, vary, page, width);
  };
  const undo = [onWidth(frame, draw), page.dark.watch(() => draw(frame.clientWidth))];
  return () => (undo.forEach((f) => f()), plot?.destroy());
}

function varyPlot(frame: HTMLElement, vary: Vary, page: Page, width: number): uPlot {
  const colours = page.palette;
  const xs = vary.curve.map((point) => point.value);
  const made = new Set(vary.runs);
  const rooms = vary.largest.map(({ gpu, room_bytes }) => ({ gpu, room_bytes }));
  const axis = { stroke: colours.muted, font: "12px system-ui, sans-serif", ticks: { show: false } };
  const tooltip = new Tooltip();
  const plot = new uPlot(
    {
      width,
      height: 260,
      padding: [16, 12, 0, 0],
      cursor: { drag: { x: false, y: false } },
      legend: { live: false },
      scales: { x: { time: false }, y: { range: (_plot, _min, max) => [0, Math.max(max, ...rooms.map((room) => room.room_bytes)) * 1.05] } },
      axes: [
        { ...axis, grid: { show: false }, incrs: DECIMAL_STEPS, label: vary.name, labelSize: 20, values: (_plot, splits) => splits.map(count) },
        { ...axis, grid: { stroke: colours.line, width: 1 }, size: 76, incrs: BYTE_STEPS, values: (_plot, splits) => splits.map(shortBytes) },
      ],
      series: [
        { label: vary.name },
        {
          label: "peak reserved",
          stroke: colours.accent,
          width: 2,
          points: { show: true, size: 7, filter: (_plot, series) => (series === 1 ? xs.flatMap((x, i) => (made.has(x) ? [i] : [])) : null) },
        },
        ...rooms.map(({ gpu }, i) => ({
          label: `space on ${gpu}`,
          stroke: colours.series(i + 1),
          dash: [6, 4],
          width: 1.5,
          points: { show: false },
        })),
      ],
      hooks: { setCursor: [(plot) => hovered(plot, vary, tooltip, frame)] },
    },
    [xs, vary.curve.map((point) => point.peak_reserved_bytes), ...rooms.map((room) => xs.map(() => room.room_bytes))],
    frame,
  );
  frame.append(tooltip.element);
  return plot;
}

/** What the value under the cursor needs, and whether that was run or predicted. */
function hovered(plot: uPlot, vary: Vary, tooltip: Tooltip, frame: HTMLElement): void {
  const { idx, left, top } = plot.cursor;
  if (idx === null || idx === undefined || (left ?? -1) < 0) return tooltip.hide();
  const { value, peak_reserved_bytes } = vary.curve[idx];
  const how = vary.runs.includes(value) ? "it was run" : "predicted";
  const lines = [h("div", { class: "when" }, `${vary.name} ${count(value)}, ${how}`), figure("peak reserved", bytes(peak_reserved_bytes))];
  tooltip.show(lines, (left ?? 0) + plot.over.offsetLeft, top ?? 0, frame);
}

function parts(list: Part[]): HTMLElement {
  const most = Math.max(1, ...list.map((part) => part.bytes));
  const rows = list.map((part) =>
    h("tr", {}, h("th", { scope: "row" }, part.name), h("td", { class: "amount" }, h("span", {}, bytes(part.bytes)), bar(part.bytes / most))),
  );
  return h("table", { class: "cards parts" }, h("tbody", {}, ...rows));
}

function assertions(document: Fit): HTMLElement {
  const items = document.assertions.map(({ text, holds, found }) =>
    h("li", {}, h("span", { class: `fits ${holds ? "good" : "bad"}` }, holds ? "holds" : "does not hold"), " ", h("code", {}, text), ` (found ${found})`),
  );
  return h("div", {}, h("h3", {}, "Assertions"), h("ul", {}, ...items));
}

function notes(document: Fit): HTMLElement {
  return h("ul", { class: "notes" }, ...document.notes.map(({ kind, text }) => h("li", {}, h("span", { class: "tag" }, kind), ` ${text}`)));
}
