// What is marked in the timeline: where memory ran out, the capacity, iterations, the instant of the address map.
import uPlot from "uplot";
import { bytes } from "../format";
import type { Axis } from "../model";
import type { Page } from "../page";
import { type Projection, paintMoment } from "./paint";
import { thinned } from "./ticks";

/** More iterations than this would be a bar, not marks. */
const MOST_TICKS = 300;
/** A label of a failure takes about so many pixels. */
const LABEL = 170;

/** `top` is the amount at the upper edge. */
export function paintMarks(plot: uPlot, on: Projection, page: Page, axis: Axis, top: number): void {
  plot.ctx.save();
  paintIterations(plot, on, page, axis);
  paintCapacity(plot, on, page, top);
  paintInstant(plot, on, page, axis);
  paintIncidents(plot, on, page, axis);
  plot.ctx.restore();
}

const inside = (on: Projection, x: number) => x >= on.left - 1 && x <= on.right + 1;

function paintInstant({ ctx, bbox }: uPlot, on: Projection, page: Page, axis: Axis): void {
  const instant = page.instant.value;
  if (!instant) return;
  const { accent, surface } = page.palette;
  const at = on.x(instant[axis]);
  if (inside(on, at)) paintMoment(ctx, at, bbox, "", { stroke: accent, text: surface }, uPlot.pxRatio);
}

function paintIncidents({ ctx, bbox }: uPlot, on: Projection, page: Page, axis: Axis): void {
  const { danger, dark } = page.palette;
  const ratio = uPlot.pxRatio;
  const incidents = page.current.data.incidents.filter((incident) => inside(on, on.x(incident[axis])));
  const positions = incidents.map((incident) => on.x(incident[axis]));
  const labelled = new Set(thinned(positions, LABEL * ratio));
  incidents.forEach((incident, i) => {
    const asked = incident.requested_bytes === null ? "" : `: ${bytes(incident.requested_bytes)}`;
    const label = labelled.has(i) ? `out of memory${asked}` : "";
    paintMoment(ctx, positions[i], bbox, label, { stroke: danger, text: dark ? "#1b0b0a" : "#ffffff" }, ratio);
  });
}

function paintIterations({ ctx, bbox }: uPlot, on: Projection, page: Page, axis: Axis): void {
  const { iterations } = page.current.data;
  if (!iterations) return;
  const ratio = uPlot.pxRatio;
  let at = 0;
  const positions = iterations[axis].map((difference) => on.x((at += difference))).filter((x) => inside(on, x));
  if (positions.length > MOST_TICKS) return;
  const bottom = bbox.top + bbox.height;
  ctx.strokeStyle = page.palette.muted;
  ctx.lineWidth = ratio;
  ctx.beginPath();
  for (const x of positions) {
    ctx.moveTo(x, bottom);
    ctx.lineTo(x, bottom + 5 * ratio);
  }
  ctx.stroke();
}

function paintCapacity({ ctx }: uPlot, on: Projection, page: Page, top: number): void {
  const capacity = page.current.data.capacity_bytes;
  if (capacity === null || capacity > top) return;
  const ratio = uPlot.pxRatio;
  const y = on.y(capacity);
  ctx.strokeStyle = page.palette.ink;
  ctx.lineWidth = ratio;
  ctx.setLineDash([6 * ratio, 4 * ratio]);
  ctx.beginPath();
  ctx.moveTo(on.left, y);
  ctx.lineTo(on.right, y);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.font = `500 ${11 * ratio}px system-ui, sans-serif`;
  ctx.fillStyle = page.palette.ink;
  ctx.textAlign = "left";
  ctx.textBaseline = "bottom";
  ctx.fillText(`capacity ${bytes(capacity)}`, on.left + 6 * ratio, y - 3 * ratio);
}
