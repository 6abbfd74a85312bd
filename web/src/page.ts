// What the sections of the page share: the report, and what the reader has chosen.
import { type Palette, palette } from "./colours";
import type { Model, SpaceModel } from "./model";
import { NO_SEARCH, type Search } from "./search";
import { Signal } from "./signal";

/** What the side panel tells of. */
export interface Pinned {
  title: string;
  /** What is known, in order: label and text. */
  facts: [string, string][];
  stack: number | null;
  /** Its module, where another than the stack's is known. */
  module?: string | null;
}

/** A moment of the run. */
export interface Instant {
  time: number;
  event: number;
}

export class Page {
  readonly model: Model;
  readonly space = new Signal(0);
  readonly search = new Signal<Search>(NO_SEARCH);
  readonly pinned = new Signal<Pinned | null>(null);
  /** Where the address map looks; null until somebody says. */
  readonly instant = new Signal<Instant | null>(null);
  readonly dark: Signal<boolean>;
  /** Tells people who do not see the page what has changed. */
  readonly announce: (text: string) => void;
  /** Puts a text into the search box. */
  lookFor: (text: string) => void = () => {};

  constructor(model: Model, dark: Signal<boolean>, announce: (text: string) => void) {
    this.model = model;
    this.dark = dark;
    this.announce = announce;
  }

  get current(): SpaceModel {
    return this.model.space(this.space.value);
  }

  get hasSpaces(): boolean {
    return this.model.report.spaces.length > 0;
  }

  get palette(): Palette {
    return palette(this.dark.value);
  }

  /** The colour number of a place: its rank among the told ones, so that it has one colour everywhere. */
  colourOfPlace(place: string): number | null {
    return this.#ranks("place").get(place) ?? null;
  }

  colourOfKind(kind: string): number | null {
    return this.#ranks("kind").get(kind) ?? null;
  }

  #rankCache = new Map<string, Map<string, number>>();

  #ranks(by: "place" | "kind"): Map<string, number> {
    const key = `${this.space.value} ${by}`;
    let ranks = this.#rankCache.get(key);
    if (!ranks) {
      const bands = by === "place" ? this.current.data.by_place.bands : this.current.data.by_kind.bands;
      ranks = new Map(bands.map((band, index) => [band.name, index]));
      this.#rankCache.set(key, ranks);
    }
    return ranks;
  }
}

/** A part of the page. To add one: a file in sections/, and a line in sections/index.ts. */
export interface Section {
  id: string;
  title: string;
  /** Whether it tells of one space, and must be made anew when another is chosen. */
  ofSpace: boolean;
  /** "show"; "hide"; or a sentence on what would show it. */
  state(page: Page): "show" | "hide" | { instead: string };
  /** Fills the section; returns what undoes its watching. */
  mount(body: HTMLElement, page: Page): () => void;
}

/** What a section of a space says where its data is absent; without any space one section says it for all. */
export function absent(page: Page, instead: string): "hide" | { instead: string } {
  return page.hasSpaces ? { instead } : "hide";
}
