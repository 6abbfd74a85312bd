// What the sections of a comparison share: the document, and what the reader has chosen.
import { type Palette, palette } from "../colours";
import { bytes } from "../format";
import { Signal } from "../signal";
import type { Both, DiffDocument, DiffRank } from "./data";

export class State {
  readonly document: DiffDocument;
  readonly rank = new Signal(0);
  readonly dark: Signal<boolean>;

  constructor(document: DiffDocument, dark: Signal<boolean>) {
    this.document = document;
    this.dark = dark;
  }

  get current(): DiffRank | null {
    return this.document.ranks[this.rank.value] ?? null;
  }

  get palette(): Palette {
    return palette(this.dark.value);
  }

  string(index: number): string {
    return this.document.strings[index] ?? "";
  }
}

/** A part of the page of a comparison. */
export interface DiffSection {
  id: string;
  title: string;
  isShown(state: State): boolean;
  /** Fills the section; returns what undoes its watching. */
  mount(body: HTMLElement, state: State): () => void;
}

/** `rank 3`, or the names that the runs have for it. */
export function rankName({ rank, name_a, name_b }: DiffRank): string {
  if (rank !== null) return `rank ${rank}`;
  return name_a === name_b ? name_b : `${name_a} and ${name_b}`;
}

export const difference = ([a, , b]: Both): number => b - a;

/** `+1.50 GiB`, `−2.00 MiB`, `=`. */
export function signed(amount: number): string {
  return amount === 0 ? "=" : `${amount > 0 ? "+" : ""}${bytes(amount)}`;
}

/** The class of an amount that grew, shrank, or stayed. */
export function tone(amount: number): "grew" | "shrank" | "same" {
  return amount > 0 ? "grew" : amount < 0 ? "shrank" : "same";
}
