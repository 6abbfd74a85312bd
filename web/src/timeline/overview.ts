// The whole run in a strip, and the part of it that the timeline shows: drag it, or click where to go.
import { fitCanvas, h } from "../dom";
import type { Page } from "../page";
import type { Chart } from "./chart";
import { pick } from "./ribbon";

const HEIGHT = 38;

export class Overview {
  readonly canvas = h("canvas", { class: "overview", "aria-hidden": "true" });
  #page: Page;
  #chart: Chart;
  #inset: { left: number; right: number } = { left: 0, right: 0 };
  #width = 0;
  #curve: { width: number; path: Path2D } | null = null;

  constructor(page: Page, chart: Chart) {
    this.#page = page;
    this.#chart = chart;
    this.canvas.addEventListener("pointerdown", (event) => this.#grab(event));
  }

  /** Draws the strip below the chart's plotting area. */
  draw(width: number): void {
    const { bbox } = this.#chart.plot;
    const ratio = window.devicePixelRatio || 1;
    this.#width = bbox.width / ratio;
    this.#inset = { left: bbox.left / ratio, right: width - (bbox.left + bbox.width) / ratio };
    if (this.#width <= 0) return;
    const context = fitCanvas(this.canvas, width, HEIGHT);
    context.translate(this.#inset.left, 0);
    this.#paintCurve(context);
    this.#paintWindow(context);
  }

  #x(value: number): number {
    const { from, to } = this.#chart.full;
    return ((value - from) / (to - from)) * this.#width;
  }

  #paintCurve(context: CanvasRenderingContext2D): void {
    // Only the window changes while people move about.
    if (this.#curve?.width !== this.#width) this.#curve = { width: this.#width, path: this.#tracedCurve() };
    context.fillStyle = this.#page.palette.rest;
    context.fill(this.#curve.path);
  }

  #tracedCurve(): Path2D {
    const { start, full, fine } = this.#chart;
    let top = 1;
    for (const value of fine.highest) top = Math.max(top, value);
    const { point, edge } = pick(start, fine.highest, { ...full, width: this.#width, height: HEIGHT, top });
    const path = new Path2D();
    path.moveTo(0, HEIGHT);
    point.forEach((index, i) => {
      const y = HEIGHT - (fine.highest[index] / top) * (HEIGHT - 4);
      path.lineTo(this.#x(edge[i]), y);
      path.lineTo(this.#x(edge[i + 1]), y);
    });
    path.lineTo(this.#width, HEIGHT);
    return path;
  }

  #paintWindow(context: CanvasRenderingContext2D): void {
    const { from, to } = this.#chart.window;
    const left = this.#x(from);
    const width = Math.max(3, this.#x(to) - left);
    context.fillStyle = `${this.#page.palette.accent}26`;
    context.fillRect(left, 0, width, HEIGHT);
    context.strokeStyle = this.#page.palette.accent;
    context.strokeRect(left + 0.5, 0.5, width - 1, HEIGHT - 1);
  }

  #grab(down: PointerEvent): void {
    const { full } = this.#chart;
    const value = (event: PointerEvent) => {
      const share = (event.clientX - this.canvas.getBoundingClientRect().left - this.#inset.left) / this.#width;
      return full.from + share * (full.to - full.from);
    };
    const { from, to } = this.#chart.window;
    const grabbed = value(down);
    const offset = grabbed >= from && grabbed <= to ? grabbed - (from + to) / 2 : 0;
    const move = (event: PointerEvent) => {
      const centre = value(event) - offset;
      this.#chart.show(centre - (to - from) / 2, centre + (to - from) / 2);
    };
    move(down);
    this.canvas.setPointerCapture(down.pointerId);
    this.canvas.addEventListener("pointermove", move);
    const release = () => this.canvas.removeEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", release, { once: true });
    this.canvas.addEventListener("pointercancel", release, { once: true });
  }
}
