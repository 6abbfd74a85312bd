// Memory over time.
import { choice, swatch } from "../controls";
import { h, onWidth } from "../dom";
import { bytes, count, counted, duration } from "../format";
import type { Page, Section } from "../page";
import { Chart, type Choice, type View } from "../timeline/chart";
import { listen, pressed } from "../timeline/gestures";
import { Overview } from "../timeline/overview";
import { Tooltip, describeFound, pinFound } from "../timeline/tooltip";

const INSTEAD =
  "A recording (whyoom run -- python train.py) or a PyTorch snapshot would show memory over time here, the address map, " +
  "and what was live at the peak.";

export const timeline: Section = {
  id: "timeline",
  title: "Memory over time",
  ofSpace: true,
  state(page) {
    if (page.hasSpaces && page.current.data.curve.time.length > 0) return "show";
    // A report of fit was never meant to have one.
    return page.model.report.why ? { instead: INSTEAD } : "hide";
  },
  mount,
};

const VIEWS: [View, string][] = [
  ["place", "By call site"],
  ["kind", "By kind"],
  ["blocks", "Block by block"],
  ["total", "Total"],
];

/** Kept while the page is open, also when another space is chosen. */
const chosen: Choice = { view: "place", axis: "time" };

function mount(body: HTMLElement, page: Page): () => void {
  const frame = h("div", { class: "chart" });
  const legend = h("ul", { class: "legend", "aria-label": "What the colours mean" });
  const extent = h("p", { class: "extent", "aria-live": "polite" });
  const undo: (() => void)[] = [];
  let shown: Shown | null = null;
  const rebuild = () => {
    shown?.destroy();
    shown = draw(frame, page, extent, legend);
  };
  const reset = h("button", { type: "button", class: "quiet", onclick: () => shown?.chart.reset() }, "Full run");
  body.append(
    h("p", { class: "summary" }, summary(page)),
    h(
      "div",
      { class: "toolbar" },
      choice("Divide memory", availableViews(page), chosen.view, (view) => ((chosen.view = view), rebuild())),
      choice("X axis", [["time", "Time"], ["event", "Events"]], chosen.axis, (axis) => ((chosen.axis = axis), rebuild())),
      reset,
    ),
    frame,
    extent,
    legend,
  );
  undo.push(
    onWidth(frame, (width) => (shown ? shown.resize(width) : rebuild())),
    page.search.watch(() => shown?.chart.repaint()),
    page.dark.watch(() => (shown?.chart.repaint(), shown?.chrome())),
    page.instant.watch(() => shown?.chart.repaint()),
    // A click in the chart outlines what it has pinned right after this.
    page.pinned.watch(() => shown?.chart.pin(null)),
    () => shown?.destroy(),
  );
  return () => undo.forEach((f) => f());
}

function availableViews(page: Page): [View, string][] {
  const { by_place, by_kind, blocks } = page.current.data;
  const has: Record<View, boolean> = {
    place: by_place.bands.length > 0,
    kind: by_kind.bands.length > 0,
    blocks: blocks.size.length > 0,
    total: true,
  };
  const views = VIEWS.filter(([view]) => has[view]);
  if (!has[chosen.view]) chosen.view = views[0][0];
  return views;
}

function summary(page: Page): string {
  const { data, end } = page.current;
  const of = data.capacity_bytes === null ? "" : ` of ${bytes(data.capacity_bytes)}`;
  const layer = data.has_allocator ? "" : " Driver allocations only; no allocator reported blocks.";
  return `Peak ${bytes(data.peak.bytes)}${of}, ${duration(data.peak.time)} into the run. ${counted(data.events, "event")} in ${duration(end.time)}.${layer}`;
}

interface Shown {
  chart: Chart;
  resize(width: number): void;
  /** Draws what is around the chart anew. */
  chrome(): void;
  destroy(): void;
}

function draw(frame: HTMLElement, page: Page, extent: HTMLElement, legend: HTMLElement): Shown {
  const height = () => (frame.clientWidth < 500 ? 300 : 380);
  const area = h("div", {
    class: "plot",
    tabindex: 0,
    role: "application",
    "aria-label": "Memory over time. Arrow keys move, plus and minus zoom, 0 shows the full run.",
  });
  frame.replaceChildren(area);
  let strip: Overview | null = null;
  const chrome = () => {
    strip?.draw(frame.clientWidth);
    extent.textContent = extentText(page, chart);
    drawLegend(legend, page, chart);
  };
  let waiting = false;
  // The chart tells of a new window before it has drawn it.
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => ((waiting = false), chrome()));
  };
  const tooltip = new Tooltip();
  const moved = () => (tooltip.hide(), later());
  const chart = new Chart(area, page, chosen, { width: frame.clientWidth, height: height() }, moved);
  strip = new Overview(page, chart);
  frame.append(strip.canvas, tooltip.element);
  interact(area, frame, page, chart, tooltip);
  later();
  return {
    chart,
    chrome,
    resize(width) {
      chart.resize(width, height());
      later();
    },
    destroy: () => chart.destroy(),
  };
}

function interact(area: HTMLElement, frame: HTMLElement, page: Page, chart: Chart, tooltip: Tooltip): void {
  const { over } = chart.plot;
  const at = (event: MouseEvent) => {
    const box = over.getBoundingClientRect();
    return { left: event.clientX - box.left, top: event.clientY - box.top };
  };
  over.addEventListener("mousemove", (event) => {
    const { left, top } = at(event);
    const found = chart.find(left, top);
    chart.hover(found.ribbon);
    const box = frame.getBoundingClientRect();
    tooltip.show(describeFound(page, found), event.clientX - box.left, event.clientY - box.top, frame);
  });
  over.addEventListener("mouseleave", () => {
    chart.hover(null);
    tooltip.hide();
  });
  let down = 0;
  over.addEventListener("mousedown", (event) => (down = event.clientX));
  over.addEventListener("click", (event) => {
    if (Math.abs(event.clientX - down) > 4) return;
    area.focus({ preventScroll: true });
    const { left, top } = at(event);
    const found = chart.find(left, top);
    const curve = chart.fine;
    page.instant.set({ time: curve.time[found.point], event: curve.event[found.point] });
    tooltip.hide();
    page.pinned.set(pinFound(page, found));
    chart.pin(found.ribbon);
  });
  area.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && chart.zoomed) chart.reset();
    else if (!pressed(chart, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  listen(chart, () => document.activeElement === area);
}

function extentText(page: Page, chart: Chart): string {
  const { from, to } = chart.window;
  const step = (to - from) / 50;
  const text = chosen.axis === "time" ? `${duration(from, step)} to ${duration(to, step)}` : `Events ${count(from)} to ${count(to)}`;
  const { blocks } = page.current.data;
  if (chosen.view !== "blocks") return text + (chart.zoomed ? "" : " (the full run)");
  const drawn = chart.ribbons.filter((ribbon) => ribbon.block !== null).length;
  const kept = blocks.complete ? "" : `, of which the ${count(blocks.size.length)} largest by size and lifetime are shown individually`;
  return `${text}. ${counted(drawn, "block")} drawn of ${count(blocks.seen)}${kept}. Zoom in to see smaller ones.`;
}

const MOST_LEGEND = 14;

/** Bands in their order; a click searches for one. In a view of blocks, their places. */
function drawLegend(legend: HTMLElement, page: Page, chart: Chart): void {
  const names = new Map<string, number | null>();
  for (const { name, colour, block } of chart.ribbons) {
    if (block === null || colour !== null) names.set(name, colour);
  }
  const colours = page.palette;
  const entries = [...names].sort(([, a], [, b]) => (a ?? 99) - (b ?? 99)).slice(0, MOST_LEGEND);
  legend.replaceChildren(
    // Where every block is told, what is in use is the top of the bands.
    chart.fine.changes && chosen.view !== "total" ? "" : h("li", {}, h("span", { class: "key line", "aria-hidden": "true" }), "in use"),
    h("li", {}, h("span", { class: "key dotted", "aria-hidden": "true" }), "reserved"),
    ...entries.map(([name, colour]) =>
      h(
        "li",
        {},
        swatch(colour === null ? colours.rest : colours.series(colour)),
        h("button", { type: "button", class: "link", title: name, onclick: () => page.lookFor(name) }, name),
      ),
    ),
  );
}
