// Segments as rows: what lies in them, what is free, and what pins them.
import type { AddressMap, MappedSegment } from "../data";

export type Order = "free" | "address";

/** A stretch of a segment: memory in use, or a gap. */
export interface Piece {
  offset: number;
  size: number;
  blocks: number;
  /** Of the largest block; null in a gap. */
  stack: number | null;
}

export interface Row {
  segment: MappedSegment;
  pieces: Piece[];
  used: number;
  free: number;
  largestFree: number;
  blocks: number;
}

export function rowOf(segment: MappedSegment): Row {
  const pieces: Piece[] = [];
  let at = 0;
  let used = 0;
  let blocks = 0;
  let largestFree = 0;
  const gap = (until: number) => {
    if (until <= at) return;
    pieces.push({ offset: at, size: until - at, blocks: 0, stack: null });
    largestFree = Math.max(largestFree, until - at);
  };
  for (const [offset, size, number, stack] of segment.runs) {
    gap(offset);
    pieces.push({ offset, size, blocks: number, stack });
    used += size;
    blocks += number;
    at = offset + size;
  }
  gap(segment.size);
  return { segment, pieces, used, free: Math.max(0, segment.size - used), largestFree, blocks };
}

/** The rows of a map, in order. Of equally free segments the larger comes first. */
export function rowsOf(map: AddressMap, order: Order): Row[] {
  const rows = map.segments.map(rowOf);
  if (order === "free") return rows.sort((a, b) => b.free - a.free || b.segment.size - a.segment.size);
  return rows.sort((a, b) => addressOf(a.segment) - addressOf(b.segment));
}

export function addressOf(segment: MappedSegment): number {
  return Number.parseInt(segment.address.replace(/^0x/, ""), 16);
}

export function mapTotals(map: AddressMap): { reserved: number; used: number; free: number; largest: number } {
  const totals = { reserved: 0, used: 0, free: 0, largest: 0 };
  for (const segment of map.segments) {
    const row = rowOf(segment);
    totals.reserved += segment.size;
    totals.used += row.used;
    totals.free += row.free;
    totals.largest = Math.max(totals.largest, row.largestFree);
  }
  return totals;
}

/** The piece under an offset. */
export function pieceAt(row: Row, offset: number): Piece | null {
  return row.pieces.find((piece) => piece.offset <= offset && offset < piece.offset + piece.size) ?? null;
}
