// The rows of the address map on one canvas, with what is under the cursor and the keys.
import { fitCanvas, h } from "../dom";
import { bytes, counted, shortBytes } from "../format";
import { frameText } from "../model";
import type { Page, Pinned } from "../page";
import { Tooltip, figure } from "../timeline/tooltip";
import { type Piece, type Row, addressOf, pieceAt } from "./rows";

export interface Look {
  colour: "place" | "kind";
  /** Every row as wide as there is room, rather than in proportion. */
  full: boolean;
}

interface Layout {
  width: number;
  rowHeight: number;
  barTop: number;
  barHeight: number;
  barLeft: number;
  barWidth: number;
  /** The widest segment. */
  most: number;
}

export class MapCanvas {
  #page: Page;
  #frame: HTMLElement;
  #canvas: HTMLCanvasElement;
  #tooltip = new Tooltip();
  #rows: Row[] = [];
  #look: Look = { colour: "place", full: false };
  #layout: Layout | null = null;
  /** Row and piece that the keys have reached. */
  #focus: { row: number; piece: number } | null = null;

  constructor(frame: HTMLElement, page: Page) {
    this.#page = page;
    this.#frame = frame;
    this.#canvas = h("canvas", {
      tabindex: 0,
      role: "application",
      "aria-label": "Segments of memory. Arrow keys go from block to block, Enter shows what holds it.",
    });
    frame.append(this.#canvas, this.#tooltip.element);
    this.#canvas.addEventListener("mousemove", (event) => this.#hover(event));
    this.#canvas.addEventListener("mouseleave", () => this.#tooltip.hide());
    this.#canvas.addEventListener("click", (event) => this.#click(event));
    this.#canvas.addEventListener("keydown", (event) => this.#key(event));
    this.#canvas.addEventListener("blur", () => ((this.#focus = null), this.#paint()));
  }

  draw(rows: Row[], look: Look): void {
    this.#rows = rows;
    this.#look = look;
    const width = this.#frame.clientWidth;
    if (width === 0) return;
    this.#layout = layOut(width, rows);
    this.#paint();
  }

  #paint(): void {
    const layout = this.#layout;
    if (!layout) return;
    const context = fitCanvas(this.#canvas, layout.width, Math.max(1, this.#rows.length * layout.rowHeight));
    this.#rows.forEach((row, index) => {
      this.#paintLabel(context, layout, row, index);
      this.#paintBar(context, layout, row, index);
    });
    this.#paintFocus(context, layout);
  }

  #paintLabel(context: CanvasRenderingContext2D, layout: Layout, row: Row, index: number): void {
    const { segment } = row;
    const colours = this.#page.palette;
    const narrow = layout.barLeft === 0;
    const y = index * layout.rowHeight + (narrow ? 9 : layout.rowHeight / 2);
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.font = "11.5px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
    context.fillStyle = colours.muted;
    context.fillText(shortAddress(segment.address), 0, y);
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = colours.ink;
    const tag = segment.pool ? ` ${segment.pool}` : segment.expandable ? " expandable" : "";
    context.fillText(shortBytes(segment.size) + tag, 92, y, narrow ? undefined : layout.barLeft - 100);
    context.textAlign = "right";
    context.fillStyle = row.free > 0 ? colours.ink : colours.muted;
    context.fillText(row.free > 0 ? `${shortBytes(row.free)} free` : "full", layout.width, y);
  }

  #paintBar(context: CanvasRenderingContext2D, layout: Layout, row: Row, index: number): void {
    const colours = this.#page.palette;
    const { left, top, width } = this.#bar(layout, row, index);
    context.fillStyle = colours.free;
    context.fillRect(left, top, width, layout.barHeight);
    const scale = width / row.segment.size;
    for (const piece of row.pieces) {
      if (piece.stack === null) continue;
      context.globalAlpha = this.#matches(row, piece) ? 1 : 0.16;
      context.fillStyle = this.#colour(piece);
      // A hair's breadth between runs shows that there are two; what is thin is drawn all the same.
      context.fillRect(left + piece.offset * scale, top, Math.max(0.8, piece.size * scale - 0.3), layout.barHeight);
    }
    context.globalAlpha = 1;
    context.strokeStyle = colours.rest;
    context.lineWidth = 1;
    context.strokeRect(left + 0.5, top + 0.5, Math.max(1, width - 1), layout.barHeight - 1);
  }

  #paintFocus(context: CanvasRenderingContext2D, layout: Layout): void {
    if (!this.#focus) return;
    const row = this.#rows[this.#focus.row];
    const piece = row?.pieces[this.#focus.piece];
    if (!piece) return;
    const { left, top, width } = this.#bar(layout, row, this.#focus.row);
    const scale = width / row.segment.size;
    context.strokeStyle = this.#page.palette.accent;
    context.lineWidth = 2.5;
    context.strokeRect(left + piece.offset * scale - 1, top - 1, Math.max(3, piece.size * scale + 2), layout.barHeight + 2);
  }

  #bar(layout: Layout, row: Row, index: number): { left: number; top: number; width: number } {
    const share = this.#look.full ? 1 : row.segment.size / layout.most;
    return { left: layout.barLeft, top: index * layout.rowHeight + layout.barTop, width: Math.max(3, layout.barWidth * share) };
  }

  #colour(piece: Piece): string {
    const page = this.#page;
    const stack = piece.stack ?? 0;
    const index =
      this.#look.colour === "kind" ? page.colourOfKind(page.current.kindOfStack(stack) ?? "unattributed") : page.colourOfPlace(page.model.place(stack));
    return index === null ? page.palette.muted : page.palette.series(index);
  }

  #matches(row: Row, piece: Piece): boolean {
    const search = this.#page.search.value;
    if (search.empty) return true;
    const stack = piece.stack ?? 0;
    return (
      search.stack(stack) ||
      search.address(addressOf(row.segment) + piece.offset, piece.size) ||
      search.name(this.#page.current.kindOfStack(stack) ?? "")
    );
  }

  #at(event: MouseEvent): { row: Row; piece: Piece | null } | null {
    const layout = this.#layout;
    if (!layout) return null;
    const box = this.#canvas.getBoundingClientRect();
    const index = Math.floor((event.clientY - box.top) / layout.rowHeight);
    const row = this.#rows[index];
    if (!row) return null;
    const { left, width } = this.#bar(layout, row, index);
    const x = event.clientX - box.left - left;
    const piece = x < 0 || x > width ? null : pieceAt(row, (x / width) * row.segment.size);
    return { row, piece };
  }

  #hover(event: MouseEvent): void {
    const found = this.#at(event);
    if (!found) return this.#tooltip.hide();
    const box = this.#frame.getBoundingClientRect();
    this.#tooltip.show(this.#tell(found.row, found.piece), event.clientX - box.left, event.clientY - box.top, this.#frame);
  }

  #tell(row: Row, piece: Piece | null): Node[] {
    const out: Node[] = [
      h("div", { class: "when" }, `${row.segment.class} segment ${row.segment.address}${row.segment.stream ? `, stream ${row.segment.stream}` : ""}`),
      figure("size", bytes(row.segment.size)),
      figure("free", bytes(row.free)),
    ];
    if (!piece) return out;
    if (piece.stack === null) return [...out, h("div", { class: "band" }, `Free block of ${bytes(piece.size)}`)];
    out.push(h("div", { class: "band" }, this.#page.model.place(piece.stack)), figure(counted(piece.blocks, "block"), bytes(piece.size)));
    for (const frame of this.#page.model.ownFrames(piece.stack).slice(0, 4)) out.push(h("code", {}, frameText(frame)));
    return out;
  }

  #click(event: MouseEvent): void {
    const found = this.#at(event);
    if (found) this.#page.pinned.set(pin(this.#page, found.row, found.piece));
  }

  #key(event: KeyboardEvent): void {
    const at = this.#focus ?? { row: 0, piece: -1 };
    const moves: Record<string, () => void> = {
      ArrowRight: () => at.piece++,
      ArrowLeft: () => at.piece--,
      ArrowDown: () => ((at.row = Math.min(this.#rows.length - 1, at.row + 1)), (at.piece = 0)),
      ArrowUp: () => ((at.row = Math.max(0, at.row - 1)), (at.piece = 0)),
      Enter: () => {},
    };
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    moves[event.key]();
    const row = this.#rows[at.row];
    if (!row) return;
    at.piece = Math.max(0, Math.min(row.pieces.length - 1, at.piece));
    this.#focus = at;
    this.#paint();
    const piece = row.pieces[at.piece] ?? null;
    const pinned = pin(this.#page, row, piece);
    if (event.key === "Enter") this.#page.pinned.set(pinned);
    else this.#page.announce(`${pinned.title}. ${pinned.facts.map(([label, value]) => `${label} ${value}`).join(", ")}`);
  }
}

/** What the side panel tells of a piece: what pins its segment, foremost. */
function pin(page: Page, row: Row, piece: Piece | null): Pinned {
  const { segment } = row;
  const facts: [string, string][] = [
    ["Segment", `${segment.address}, ${bytes(segment.size)}, ${segment.class}${segment.expandable ? ", expandable" : ""}`],
    ["Pool", segment.pool || "default"],
    ["Stream", String(segment.stream)],
    ["Allocated in it", `${bytes(row.used)} in ${counted(row.blocks, "block")}`],
    ["Free in it", `${bytes(row.free)}, the largest block ${bytes(row.largestFree)}`],
  ];
  if (piece && piece.stack !== null) {
    facts.unshift([counted(piece.blocks, "block"), bytes(piece.size)], ["Offset", bytes(piece.offset)]);
    if (row.free > 0) facts.push(["Pins", `${bytes(row.free)}: the segment cannot be released while anything in it is in use`]);
    return { title: page.model.place(piece.stack), facts, stack: piece.stack };
  }
  if (piece) facts.unshift(["Free block", bytes(piece.size)]);
  const largest = row.pieces.reduce<Piece | null>((best, each) => (each.stack !== null && (!best || each.size > best.size) ? each : best), null);
  if (largest) facts.push(["Pinned most by", page.model.place(largest.stack ?? 0)]);
  return { title: piece ? "Free memory" : "Segment", facts, stack: largest?.stack ?? null };
}

function layOut(width: number, rows: Row[]): Layout {
  const narrow = width < 640;
  const most = Math.max(1, ...rows.map((row) => row.segment.size));
  const barLeft = narrow ? 0 : 236;
  const right = narrow ? 0 : 108;
  return narrow
    ? { width, rowHeight: 44, barTop: 19, barHeight: 16, barLeft, barWidth: width, most }
    : { width, rowHeight: 24, barTop: 3, barHeight: 18, barLeft, barWidth: width - barLeft - right, most };
}

/** Addresses differ in their last digits. */
function shortAddress(address: string): string {
  const digits = address.replace(/^0x/, "");
  return digits.length > 10 ? `…${digits.slice(-9)}` : `0x${digits}`;
}
