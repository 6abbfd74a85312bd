// Where everything lay in the device's memory, at an instant.
import { choice } from "../controls";
import type { AddressMap } from "../data";
import { h, onWidth } from "../dom";
import { bytes, count, counted, duration, percent } from "../format";
import { MapCanvas } from "../map/canvas";
import { type Order, type Row, mapTotals, rowsOf } from "../map/rows";
import { type Page, type Section, absent } from "../page";

export const map: Section = {
  id: "map",
  title: "Address map",
  ofSpace: true,
  state: (page) =>
    page.hasSpaces && page.current.data.maps.length > 0
      ? "show"
      : absent(page, "A recording (whyoom run) or a PyTorch snapshot would show the address map here."),
  mount,
};

const FIRST_ROWS = 40;
const MORE_ROWS = 160;

/** Kept while the page is open. */
const chosen: { order: Order; colour: "place" | "kind"; scale: "size" | "full" } = { order: "free", colour: "place", scale: "size" };

function mount(body: HTMLElement, page: Page): () => void {
  const { maps } = page.current.data;
  let at = firstMap(page);
  let shown = FIRST_ROWS;
  const slider = h("input", { type: "range", min: 0, max: maps.length - 1, step: 1, "aria-label": "Instant of the map" });
  const when = h("output", { class: "when" });
  const line = h("p", { class: "totals" });
  const frame = h("div", { class: "map" });
  const foot = h("div", { class: "more" });
  const canvas = new MapCanvas(frame, page);

  const draw = () => {
    const now = maps[at];
    const rows = rowsOf(now, chosen.order);
    slider.value = String(at);
    when.textContent = instantText(page, now);
    slider.setAttribute("aria-valuetext", when.textContent);
    line.replaceChildren(...totalsLine(now));
    canvas.draw(rows.slice(0, shown), { colour: chosen.colour, full: chosen.scale === "full" });
    foot.replaceChildren(...footOf(now, rows));
  };
  const footOf = (now: AddressMap, rows: Row[]): Node[] => {
    const notes = honestNotes(now);
    const out: Node[] = notes ? [h("p", { class: "footnote" }, notes)] : [];
    if (rows.length <= shown) return out;
    const more = h("button", { type: "button", class: "quiet", onclick: () => ((shown += MORE_ROWS), draw()) }, `${count(rows.length - shown)} more segments`);
    return [more, ...out];
  };
  slider.addEventListener("input", () => {
    at = Number(slider.value);
    page.instant.set({ time: maps[at].time, event: maps[at].event });
    draw();
  });
  body.append(
    h("div", { class: "instant" }, slider, when),
    h(
      "div",
      { class: "toolbar" },
      choice("Order of segments", [["free", "Most free first"], ["address", "By address"]], chosen.order, (order) => ((chosen.order = order), draw())),
      choice("Colour", [["place", "By call site"], ["kind", "By kind"]], chosen.colour, (colour) => ((chosen.colour = colour), draw())),
      choice("Width", [["size", "To scale"], ["full", "Full width"]], chosen.scale, (scale) => ((chosen.scale = scale), draw())),
    ),
    line,
    frame,
    foot,
  );
  const undo = [
    onWidth(frame, draw),
    page.instant.watch((instant) => {
      if (!instant) return;
      at = page.current.nearestMap(instant.event);
      draw();
    }),
    page.search.watch(draw),
    page.dark.watch(draw),
  ];
  return () => undo.forEach((f) => f());
}

/** Where somebody asked to look, else where memory ran out, else the peak. */
function firstMap(page: Page): number {
  const { maps } = page.current.data;
  const instant = page.instant.value;
  if (instant) return page.current.nearestMap(instant.event);
  for (const moment of ["out of memory", "peak"]) {
    const found = maps.findIndex((map) => map.moment === moment);
    if (found >= 0) return found;
  }
  return maps.length - 1;
}

function instantText(page: Page, now: AddressMap): string {
  const moment = now.moment ? `${now.moment}: ` : "";
  const asked = page.instant.value;
  const off = asked && asked.event !== now.event ? ` (the nearest recorded instant to ${duration(asked.time)})` : "";
  return `${moment}${duration(now.time)}, event ${count(now.event)}${off}`;
}

function totalsLine(now: AddressMap): Node[] {
  const { reserved, used, free, largest } = mapTotals(now);
  const items: [string, string][] = [
    ["reserved", `${bytes(reserved)} in ${counted(now.segments.length, "segment")}`],
    ["in use", `${bytes(used)} (${percent(reserved ? used / reserved : 0)})`],
    ["free", bytes(free)],
    ["largest free block", bytes(largest)],
  ];
  return items.map(([label, value]) => h("span", {}, h("span", { class: "label" }, label), h("b", {}, value)));
}

function honestNotes(now: AddressMap): string {
  const notes: string[] = [];
  if (now.left_out > 0) notes.push(`${counted(now.left_out, "segment")} more ${now.left_out === 1 ? "is" : "are"} not shown.`);
  if (now.smallest_gap > 0) notes.push(`Gaps below ${bytes(now.smallest_gap)} are not shown.`);
  return notes.join(" ");
}
