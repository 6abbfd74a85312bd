// The timeline itself: uPlot has the scales, axes, lines and the cursor; ribbons and marks are painted into it.
import uPlot from "uplot";
import type { Axis, SpaceModel } from "../model";
import type { Page } from "../page";
import { axesOf } from "./axes";
import { bandRibbons, bandsFromBlocks, REST } from "./bands";
import { blockRibbons } from "./blocks";
import { type Fine, fineOf } from "./fine";
import { paintMarks } from "./marks";
import { type Projection, paintRibbons, trace } from "./paint";
import { type Ribbon, type Window, highestIn, lastAtMost, ribbonAt, stepAt } from "./ribbon";
import { steps } from "./steps";

/** How memory is divided. */
export type View = "place" | "kind" | "blocks" | "total";

export interface Choice {
  view: View;
  axis: Axis;
}

/** What lies under the cursor. */
export interface Found {
  x: number;
  /** Which state of the chart's fine curve. */
  point: number;
  ribbon: Ribbon | null;
  /** Of the ribbon, there. */
  size: number;
}

/** A capacity is drawn where it is not so far up that the run would be a line at the bottom. */
const NEAR_CAPACITY = 1.6;
const HEADROOM = 1.06;
/** More steps than this are a surface to the eye, not a line. */
const DENSE = 80;

export class Chart {
  readonly plot: uPlot;
  readonly fine: Fine;
  readonly start: Float64Array;
  readonly full: { from: number; to: number };
  ribbons: Ribbon[] = [];
  #page: Page;
  #space: SpaceModel;
  #choice: Choice;
  #top = 1;
  #stale = true;
  #highlight: HTMLCanvasElement;
  /** Whether anything is painted there. */
  #highlighted = false;
  /** Of the ribbons as they are laid out now. */
  #hovered: Ribbon | null = null;
  /** As it was when it was clicked: after a zoom, the ribbon of the same block or name is meant. */
  #pinned: Ribbon | null = null;

  constructor(target: HTMLElement, page: Page, choice: Choice, size: { width: number; height: number }, changed: () => void) {
    this.#page = page;
    this.#space = page.current;
    this.#choice = choice;
    const { curve } = this.#space;
    this.fine = fineOf(this.#space);
    this.start = this.fine.start[choice.axis];
    const from = this.start[0] ?? 0;
    const last = curve[choice.axis].at(-1) ?? 1;
    // Incidents may come after the last change; and the last state must have some width to be seen.
    const incidents = this.#space.data.incidents.map((incident) => incident[choice.axis]);
    const end = Math.max(last, ...incidents);
    this.full = { from, to: end + Math.max((end - from) * 0.01, 1) };
    this.#highlight = document.createElement("canvas");
    this.#highlight.className = "highlight";
    this.plot = new uPlot(this.#options(size, changed), this.#data(), target);
    this.plot.over.append(this.#highlight);
  }

  get window(): { from: number; to: number } {
    const { min, max } = this.plot.scales.x;
    return { from: min ?? this.full.from, to: max ?? this.full.to };
  }

  get zoomed(): boolean {
    const { from, to } = this.window;
    return to - from < (this.full.to - this.full.from) * 0.999;
  }

  /** Shows a part of the run, held within the whole. */
  show(from: number, to: number): void {
    const whole = this.full.to - this.full.from;
    const least = this.#choice.axis === "event" ? 4 : Math.max(whole * 1e-7, 200);
    const width = Math.min(whole, Math.max(least, to - from));
    const centre = (from + to) / 2;
    const left = Math.min(this.full.to - width, Math.max(this.full.from, centre - width / 2));
    this.plot.setScale("x", { min: left, max: left + width });
  }

  reset(): void {
    this.plot.setScale("x", { min: this.full.from, max: this.full.to });
  }

  /** Draws anew, after a search or a change of colours. */
  repaint(): void {
    this.plot.redraw(false, true);
  }

  resize(width: number, height: number): void {
    this.#stale = true;
    this.plot.setSize({ width, height });
  }

  /** What lies at a point of the plotting area, in pixels of the page. */
  find(left: number, top: number): Found {
    const x = this.plot.posToVal(left, "x");
    const amount = this.plot.posToVal(top, "y");
    const point = Math.max(0, lastAtMost(this.start, x));
    const ribbon = ribbonAt(this.ribbons, x, amount);
    return { x, point, ribbon, size: ribbon ? ribbon.size[stepAt(ribbon, x)] : 0 };
  }

  /** Outlines what is under the cursor, until the chart is laid out anew. */
  hover(ribbon: Ribbon | null): void {
    if (ribbon === this.#hovered) return;
    this.#hovered = ribbon;
    this.#paintHighlight();
  }

  /** Outlines what the panel tells of, also after a zoom; null takes that away. */
  pin(ribbon: Ribbon | null): void {
    this.#hovered = null;
    this.#pinned = ribbon;
    this.#paintHighlight();
  }

  destroy(): void {
    this.plot.destroy();
  }

  #paintHighlight(): void {
    const pinned = this.#pinned;
    const kept = pinned && this.ribbons.find(({ block, name }) => block === pinned.block && name === pinned.name);
    const anything = Boolean(kept || this.#hovered);
    // A canvas that is cleared is drawn to the screen anew, at every frame of a zoom.
    if (!anything && !this.#highlighted) return;
    this.#highlighted = anything;
    const context = this.#clearedHighlight();
    if (!context) return;
    const { left, top } = this.plot.bbox;
    context.setTransform(1, 0, 0, 1, -left, -top);
    for (const ribbon of new Set([kept, this.#hovered])) if (ribbon) this.#outline(context, ribbon);
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  /** The canvas above the chart, as large as it and with nothing on it. */
  #clearedHighlight(): CanvasRenderingContext2D | null {
    const canvas = this.#highlight;
    const ratio = uPlot.pxRatio;
    const { width, height } = this.plot.bbox;
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
      canvas.style.width = `${width / ratio}px`;
      canvas.style.height = `${height / ratio}px`;
    }
    const context = canvas.getContext("2d");
    context?.clearRect(0, 0, width, height);
    return context;
  }

  #outline(context: CanvasRenderingContext2D, ribbon: Ribbon): void {
    context.beginPath();
    trace(context, ribbon, this.#projection());
    if (ribbon.bottom.length > DENSE) {
      // The outline of a ribbon that jumps at every pixel would hide it.
      context.fillStyle = `${this.#page.palette.ink}38`;
      context.fill();
    } else {
      context.lineWidth = 1.5 * uPlot.pxRatio;
      context.strokeStyle = this.#page.palette.ink;
      context.stroke();
    }
  }

  /** Both scales are linear: that much is quicker to work out here than to ask for thousands of corners. */
  #projection(): Projection {
    const { left, top, width, height } = this.plot.bbox;
    const { from, to } = this.window;
    const across = width / (to - from || 1);
    const up = height / this.#top;
    return {
      x: (value) => left + (value - from) * across,
      y: (amount) => top + height - amount * up,
      left,
      right: left + width,
    };
  }

  /** The curve, with its last state drawn to the end. */
  #data(): uPlot.AlignedData {
    const { fine } = this;
    const extended = (from: Float64Array, last: number) => Float64Array.from([...from, last]);
    return [
      extended(this.start, Math.max(this.full.to, this.start.at(-1) ?? 0)),
      extended(fine.lowest, fine.lowest.at(-1) ?? 0),
      extended(fine.highest, fine.highest.at(-1) ?? 0),
      extended(fine.reserved, fine.reserved.at(-1) ?? 0),
    ];
  }

  #range(): [number, number] {
    const { data } = this.#space;
    const { fine } = this;
    const most = Math.max(highestIn(this.start, fine.reserved, this.window), highestIn(this.start, fine.highest, this.window), 1);
    const capacity = data.capacity_bytes ?? 0;
    this.#top = (capacity < most * NEAR_CAPACITY ? Math.max(most, capacity) : most) * HEADROOM;
    return [0, this.#top];
  }

  #window(): Window {
    const ratio = uPlot.pxRatio;
    return { ...this.window, width: this.plot.bbox.width / ratio, height: this.plot.bbox.height / ratio, top: this.#top };
  }

  #layOut(): void {
    const { view, axis } = this.#choice;
    const space = this.#space;
    const window = this.#window();
    this.#hovered = null;
    if (view === "total") this.ribbons = [];
    else if (view === "blocks") this.ribbons = blockRibbons(space.blocks, { highest: this.fine.highest, start: this.start }, axis, window, (block) => this.#describe(block));
    else {
      const points = view === "place" ? space.byPlace : space.byKind;
      this.ribbons = this.fine.changes
        ? bandsFromBlocks(space, this.fine, points, this.#group(), axis, window)
        : bandRibbons(points, axis, space.data.events, window);
    }
  }

  #describe(block: number): { name: string; colour: number | null } {
    const name = this.#page.model.place(this.#space.blocks.stack[block]);
    return { name, colour: this.#page.colourOfPlace(name) };
  }

  /** Which band a block belongs to. */
  #group(): (block: number) => number {
    const { blocks } = this.#space;
    const page = this.#page;
    if (this.#choice.view === "kind") {
      const ranks = blocks.kinds.map((kind) => page.colourOfKind(kind) ?? -1);
      return (block) => ranks[blocks.kind[block]];
    }
    const rest = page.colourOfPlace(REST) ?? -1;
    return (block) => page.colourOfPlace(page.model.place(blocks.stack[block])) ?? rest;
  }

  #matches(ribbon: Ribbon): boolean {
    const search = this.#page.search.value;
    if (search.empty) return true;
    if (ribbon.block !== null) {
      const { address, size } = this.#space.blocks;
      if (search.address(address[ribbon.block], size[ribbon.block])) return true;
    }
    return (ribbon.stack !== null && search.stack(ribbon.stack)) || search.name(ribbon.name);
  }

  #paintUnder(): void {
    const { plot } = this;
    const window = this.#window();
    if (window.width <= 0 || window.height <= 0) return;
    if (this.#stale) {
      this.#layOut();
      this.#stale = false;
    }
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    paintRibbons(ctx, this.ribbons, this.#projection(), this.#page.palette, (ribbon) => this.#matches(ribbon));
    ctx.restore();
  }

  #paintOver(): void {
    paintMarks(this.plot, this.#projection(), this.#page, this.#choice.axis, this.#top);
    this.#paintHighlight();
  }

  #options(size: { width: number; height: number }, changed: () => void): uPlot.Options {
    const page = this.#page;
    const line = (stroke: () => string, width: number, more: Partial<uPlot.Series> = {}): uPlot.Series => ({
      stroke,
      width,
      paths: steps("highest"),
      points: { show: false },
      ...more,
    });
    const total = this.#choice.view === "total";
    const tint = () => `${page.palette.accent}${total ? "40" : "00"}`;
    return {
      ...size,
      padding: [22, 8, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, dist: 5 },
        bind: { dblclick: () => () => (this.reset(), null) },
      },
      scales: {
        x: { time: false, range: (_plot, min, max) => [min ?? this.full.from, max ?? this.full.to] },
        y: { range: () => this.#range() },
      },
      axes: axesOf(page, this.#choice.axis, size.width),
      series: [
        {},
        line(() => "transparent", 0, { show: total, fill: tint, paths: steps("lowest") }),
        // Where every block is told, the top of the ribbons is what is in use.
        line(() => (total ? page.palette.accent : `${page.palette.ink}b0`), total ? 1.25 : 0.75, { show: total || !this.fine.changes, fill: tint }),
        line(() => page.palette.muted, 1.5, { dash: [2, 3] }),
      ],
      hooks: {
        setScale: [
          (_plot, key) => {
            if (key !== "x") return;
            this.#stale = true;
            changed();
          },
        ],
        drawAxes: [() => this.#paintUnder()],
        draw: [() => this.#paintOver()],
      },
    };
  }
}
