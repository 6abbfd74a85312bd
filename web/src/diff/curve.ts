// Memory over time of a run, along time, iterations, or its own events.
import { values } from "../decode";
import type { RunTimeline } from "./data";

export type Along = "time" | "iteration" | "events";

export interface RunCurve {
  x: Float64Array;
  allocated: Float64Array;
  reserved: Float64Array;
}

/** What both runs can be measured along, the best first. */
export function ways(timelines: (RunTimeline | null)[]): Along[] {
  const known = timelines.filter((timeline) => timeline !== null);
  const out: Along[] = [];
  // What comes before the first iteration takes another time in each run, and nobody compares it.
  if (known.every(({ iterations }) => iterations.length > 1)) out.push("iteration");
  if (known.every(({ time }) => time.some((difference, i) => i > 0 && difference > 0))) out.push("time");
  return [...out, "events"];
}

export function curveOf(timeline: RunTimeline, along: Along): RunCurve {
  const time = values(timeline.time);
  const x = along === "time" ? time : along === "events" ? time.map((_, i) => i / Math.max(1, time.length - 1)) : iterationsAt(time, values(timeline.iterations), timeline.every);
  return { x: rising(x), allocated: values(timeline.allocated), reserved: values(timeline.reserved) };
}

/** In which iteration each instant is: the first begins at 0, and what is before it is from -1 to 0. */
export function iterationsAt(time: Float64Array, starts: Float64Array, every: number): Float64Array {
  const last = starts.length - 1;
  const first = starts[0];
  const length = last > 0 ? (starts[last] - first) / last : 1;
  let at = 0;
  return time.map((now) => {
    if (now < first) return first > time[0] ? (now - first) / (first - time[0]) : 0;
    while (at < last && starts[at + 1] <= now) at++;
    const long = at < last ? starts[at + 1] - starts[at] : length;
    return (at + (long > 0 ? Math.min(1, (now - starts[at]) / long) : 0)) * every;
  });
}

/** Points of one instant stand a hair apart: a chart wants ever larger ones. */
function rising(x: Float64Array): Float64Array {
  const out = x.slice();
  const hair = Math.max(1e-9, ((out.at(-1) ?? 0) - out[0]) * 1e-9);
  for (let i = 1; i < out.length; i++) if (out[i] <= out[i - 1]) out[i] = out[i - 1] + hair;
  return out;
}
