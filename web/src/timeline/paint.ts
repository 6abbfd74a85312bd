// Ribbons, marks and lines onto a canvas. Positions come from the chart, which knows the scales.
import type { Palette } from "../colours";
import type { Ribbon } from "./ribbon";

/** From values to pixels of the canvas. */
export interface Projection {
  x(value: number): number;
  y(bytes: number): number;
  left: number;
  right: number;
}

/** Traces a ribbon's outline: along the top, and back along the bottom. */
export function trace(path: CanvasRenderingContext2D | Path2D, ribbon: Ribbon, on: Projection): void {
  const steps = ribbon.bottom.length;
  if (steps === 0) return;
  const x = (i: number) => Math.min(on.right, Math.max(on.left, on.x(ribbon.start[i])));
  path.moveTo(x(0), on.y(ribbon.bottom[0]));
  for (let i = 0; i < steps; i++) {
    const top = on.y(ribbon.bottom[i] + ribbon.size[i]);
    path.lineTo(x(i), top);
    path.lineTo(x(i + 1), top);
  }
  for (let i = steps - 1; i >= 0; i--) {
    const bottom = on.y(ribbon.bottom[i]);
    path.lineTo(x(i + 1), bottom);
    path.lineTo(x(i), bottom);
  }
  path.closePath();
}

/** Neighbours of one place are told apart by their shade. */
const SHADES = [1, 0.82, 0.91];
const FADED = 0.16;

export function paintRibbons(
  context: CanvasRenderingContext2D,
  ribbons: Ribbon[],
  on: Projection,
  colours: Palette,
  matches: (ribbon: Ribbon) => boolean,
): void {
  context.save();
  for (const ribbon of ribbons) {
    const shade = ribbon.block === null ? 1 : SHADES[ribbon.block % SHADES.length];
    context.globalAlpha = matches(ribbon) ? shade : FADED;
    context.fillStyle = ribbon.colour === null ? colours.rest : colours.series(ribbon.colour);
    context.beginPath();
    trace(context, ribbon, on);
    context.fill();
  }
  context.restore();
}

/** A vertical line with a label at its top. */
export function paintMoment(
  context: CanvasRenderingContext2D,
  at: number,
  box: { left: number; top: number; width: number; height: number },
  label: string,
  colours: { stroke: string; text: string },
  ratio: number,
): void {
  context.save();
  context.strokeStyle = colours.stroke;
  context.lineWidth = 1.5 * ratio;
  context.beginPath();
  context.moveTo(at, box.top);
  context.lineTo(at, box.top + box.height);
  context.stroke();
  if (label) paintLabel(context, at, box, label, colours, ratio);
  context.restore();
}

function paintLabel(
  context: CanvasRenderingContext2D,
  at: number,
  box: { left: number; top: number; width: number },
  label: string,
  colours: { stroke: string; text: string },
  ratio: number,
): void {
  context.font = `600 ${11 * ratio}px system-ui, sans-serif`;
  const padding = 5 * ratio;
  const width = context.measureText(label).width + 2 * padding;
  const height = 17 * ratio;
  const left = Math.max(box.left, Math.min(at - width / 2, box.left + box.width - width));
  context.fillStyle = colours.stroke;
  context.beginPath();
  context.roundRect(left, box.top - height, width, height, 3 * ratio);
  context.fill();
  context.fillStyle = colours.text;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(label, left + padding, box.top - height / 2 + 0.5 * ratio);
}
