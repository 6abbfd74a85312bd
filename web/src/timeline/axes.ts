// The axes of the timeline: bytes up, time or events across.
import type uPlot from "uplot";
import { count, duration, shortBytes } from "../format";
import type { Axis } from "../model";
import type { Page } from "../page";
import { BYTE_STEPS, DECIMAL_STEPS, TIME_STEPS } from "./ticks";

/** Below this many pixels labels stand closer. */
const NARROW = 500;

export function axesOf(page: Page, along: Axis, width: number): uPlot.Axis[] {
  const common: uPlot.Axis = {
    stroke: () => page.palette.muted,
    font: "12px system-ui, sans-serif",
    ticks: { show: false },
    gap: 8,
  };
  const byTime = along === "time";
  return [
    {
      ...common,
      grid: { show: false },
      space: width < NARROW ? 70 : 90,
      size: 32,
      incrs: byTime ? TIME_STEPS : DECIMAL_STEPS,
      values: (_plot, splits, _axis, _space, step) => splits.map((x) => (byTime ? duration(x, step) : count(x))),
    },
    {
      ...common,
      grid: { stroke: () => page.palette.line, width: 1 },
      size: width < NARROW ? 64 : 76,
      space: 44,
      incrs: BYTE_STEPS,
      values: (_plot, splits) => splits.map(shortBytes),
    },
  ];
}
