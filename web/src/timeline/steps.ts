// Lines that change in steps, for uPlot: one step a pixel, the highest (or lowest) of those that share it.
import uPlot from "uplot";
import { pick } from "./ribbon";

/** A path builder: the highest of what shares a pixel, or the lowest. */
export function steps(which: "highest" | "lowest"): uPlot.Series.PathBuilder {
  return (plot, series) => {
    const ys = plot.data[series] as Float64Array;
    const { left, width, top, height } = plot.bbox;
    const { min: from = 0, max: to = 1 } = plot.scales.x;
    const most = plot.scales.y.max || 1;
    const x = (value: number) => left + ((value - from) / (to - from)) * width;
    const y = (value: number) => top + height * (1 - value / most);
    const window = { from, to, width: width / uPlot.pxRatio, height, top: most };
    const { point, edge } = pick(plot.data[0] as Float64Array, which === "highest" ? ys : ys.map((value) => -value), window);
    const stroke = new Path2D();
    point.forEach((index, i) => {
      stroke.lineTo(x(edge[i]), y(ys[index]));
      stroke.lineTo(x(edge[i + 1]), y(ys[index]));
    });
    const fill = new Path2D(stroke);
    fill.lineTo(x(edge[edge.length - 1]), y(0));
    fill.lineTo(x(edge[0]), y(0));
    fill.closePath();
    return { stroke, fill, clip: null, band: null, gaps: [], flags: 3 };
  };
}
