// What is under the cursor, beside the cursor.
import { h, styled } from "../dom";
import { bytes, count, counted, duration } from "../format";
import { frameText } from "../model";
import type { Page, Pinned } from "../page";
import type { Found } from "./chart";
import { fineOf } from "./fine";

const FRAMES = 4;

/** A small box that follows the cursor within `around`. */
export class Tooltip {
  readonly element = h("div", { class: "tooltip", role: "presentation" });

  show(content: Node[], left: number, top: number, around: HTMLElement): void {
    this.element.replaceChildren(...content);
    this.element.classList.add("shown");
    const room = around.clientWidth;
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const beside = left + 16 + width > room ? left - 16 - width : left + 16;
    styled(this.element, {
      left: `${Math.max(0, Math.min(beside, room - width))}px`,
      top: `${Math.max(0, Math.min(top - height / 2, around.clientHeight - height))}px`,
    });
  }

  hide(): void {
    this.element.classList.remove("shown");
  }
}

/** A line of a tooltip: a label and a figure. */
export function figure(label: string, value: string): HTMLElement {
  return h("div", { class: "figure" }, h("span", {}, label), h("b", {}, value));
}

/** What a point of the timeline says in a tooltip. */
export function describeFound(page: Page, found: Found): Node[] {
  const curve = fineOf(page.current);
  const i = found.point;
  const spread = curve.highest[i] > curve.lowest[i] * 1.001;
  const used = spread ? `${bytes(curve.lowest[i])} to ${bytes(curve.highest[i])}` : bytes(curve.highest[i]);
  const out: Node[] = [
    h("div", { class: "when" }, `${duration(curve.time[i])} · event ${count(curve.event[i])}`),
    figure("in use", used),
    figure("reserved", bytes(curve.reserved[i])),
  ];
  const { ribbon } = found;
  if (!ribbon) return out;
  out.push(h("div", { class: "band" }, ribbon.name), figure(ribbon.block === null ? "holds" : "block of", bytes(found.size)));
  if (ribbon.stack !== null) {
    for (const frame of page.model.ownFrames(ribbon.stack).slice(0, FRAMES)) out.push(h("code", {}, frameText(frame)));
  }
  return out;
}

/** The same for the side panel, at length. */
export function pinFound(page: Page, found: Found): Pinned | null {
  const { ribbon } = found;
  if (!ribbon) return null;
  const { blocks, data } = page.current;
  const curve = fineOf(page.current);
  const facts: [string, string][] = [[ribbon.block === null ? "Holds" : "Size", bytes(found.size)]];
  if (ribbon.block !== null) {
    const block = ribbon.block;
    const ends = data.blocks.died[block];
    facts.push(
      ["Kind", blocks.kinds[blocks.kind[block]] ?? "unattributed"],
      ["Address", `0x${blocks.address[block].toString(16)}`],
      ["Made", `${duration(blocks.born.time[block])}, event ${count(blocks.born.event[block])}`],
      ["Freed", ends < 0 ? "not within the recording" : `${duration(ends)}, event ${count(data.blocks.died_event[block])}`],
    );
  } else {
    facts.push(["At", `${duration(curve.time[found.point])}, event ${count(curve.event[found.point])}`]);
  }
  if (ribbon.stack !== null) {
    const place = page.model.place(ribbon.stack);
    const same = data.peak.stacks.filter((entry) => page.model.place(entry.stack) === place);
    const total = same.reduce((sum, entry) => sum + entry.bytes, 0);
    const number = same.reduce((sum, entry) => sum + entry.blocks, 0);
    if (total > 0) facts.push(["This call site at the peak", `${bytes(total)} in ${counted(number, "block")}`]);
  }
  const module = ribbon.block === null ? null : page.model.moduleName(data.blocks.module?.[ribbon.block] ?? -1);
  return { title: ribbon.name, facts, stack: ribbon.stack, module };
}
