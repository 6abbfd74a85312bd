// How people move about in the timeline: wheel, keys, fingers. Dragging to zoom is uPlot's own.
import type { Chart } from "./chart";

const ZOOM_STEP = 1.5;
const PAN_STEP = 0.2;

/** Makes the part of the run on the screen `factor` times as long, around a share of it. */
export function zoom(chart: Chart, factor: number, around = 0.5): void {
  const { from, to } = chart.window;
  const fixed = from + (to - from) * around;
  const width = (to - from) * factor;
  chart.show(fixed - width * around, fixed + width * (1 - around));
}

export function pan(chart: Chart, share: number): void {
  const { from, to } = chart.window;
  const shift = (to - from) * share;
  const held = Math.max(chart.full.from - from, Math.min(shift, chart.full.to - to));
  chart.show(from + held, to + held);
}

/** Keys of the focused chart; says whether the key meant something. */
export function pressed(chart: Chart, key: string): boolean {
  const actions: Record<string, () => void> = {
    ArrowLeft: () => pan(chart, -PAN_STEP),
    ArrowRight: () => pan(chart, PAN_STEP),
    "+": () => zoom(chart, 1 / ZOOM_STEP),
    "=": () => zoom(chart, 1 / ZOOM_STEP),
    "-": () => zoom(chart, ZOOM_STEP),
    "0": () => chart.reset(),
    Home: () => pan(chart, -Infinity),
    End: () => pan(chart, Infinity),
  };
  actions[key]?.();
  return key in actions;
}

/** Wheel and fingers on the plotting area. */
export function listen(chart: Chart, focused: () => boolean): void {
  const area = chart.plot.over;
  area.addEventListener(
    "wheel",
    (event) => {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      // A wheel that only passes by scrolls the page; it zooms once the chart was clicked or focused, or with Ctrl.
      if (!sideways && !event.ctrlKey && !event.metaKey && !focused()) return;
      if (sideways && !chart.zoomed) return;
      event.preventDefault();
      const box = area.getBoundingClientRect();
      const delta = sideways ? event.deltaX || event.deltaY : event.deltaY;
      if (sideways) pan(chart, delta / box.width);
      else zoom(chart, Math.exp(Math.max(-60, Math.min(60, delta)) * 0.005), (event.clientX - box.left) / box.width);
    },
    { passive: false },
  );
  listenToFingers(chart, area);
}

/** Two fingers zoom; one moves sideways within a zoomed part. Up and down stays with the page. */
function listenToFingers(chart: Chart, area: HTMLElement): void {
  let last: { x: number; spread: number } | null = null;
  const measure = (event: TouchEvent) => {
    const [a, b] = [event.touches[0], event.touches[1] ?? event.touches[0]];
    return { x: (a.clientX + b.clientX) / 2, spread: Math.abs(a.clientX - b.clientX) };
  };
  area.addEventListener("touchstart", (event) => (last = measure(event)), { passive: true });
  area.addEventListener("touchend", () => (last = null), { passive: true });
  area.addEventListener(
    "touchmove",
    (event) => {
      if (!last) return;
      const now = measure(event);
      const box = area.getBoundingClientRect();
      if (event.touches.length === 2 && last.spread > 10 && now.spread > 10) {
        event.preventDefault();
        zoom(chart, last.spread / now.spread, (now.x - box.left) / box.width);
      } else if (event.touches.length === 1 && chart.zoomed) {
        pan(chart, (last.x - now.x) / box.width);
      }
      last = now;
    },
    { passive: false },
  );
}
