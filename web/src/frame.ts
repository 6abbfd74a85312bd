// The frame of the page: the bar at the top, the sections below it, the first in sight first.
import { h } from "./dom";
import { finder } from "./finder";
import { brand, footer } from "./frame_parts";
import { keys } from "./keys";
import { Model } from "./model";
import { Page, type Section } from "./page";
import { panel } from "./panel";
import { SECTIONS } from "./sections";
import type { Signal } from "./signal";
import type { Report } from "./data";

/** Fills `app`. The returned function takes the report away again, and what it listened to with it. */
export function showReport(app: HTMLElement, report: Report, dark: Signal<boolean>): () => void {
  const shownUntil = new AbortController();
  const { signal } = shownUntil;
  const spoken = h("div", { class: "offscreen", role: "status", "aria-live": "polite" });
  const page = new Page(new Model(report), dark, (text) => (spoken.textContent = text));
  page.space.set(firstSpace(report));
  const help = keys(page, signal);
  const shown = SECTIONS.filter((section) => section.state(page) !== "hide");
  const main = h("main", { id: "main" });
  app.replaceChildren(
    h("a", { class: "skip", href: "#main" }, "To the verdict"),
    topBar(page, shown, help),
    h("div", { class: "columns" }, main, panel(page)),
    footer(report.whyoom, report.contains),
    help,
    spoken,
  );
  document.title = title(report);
  const lazy = new Lazy(page);
  for (const section of shown) main.append(lazy.add(section));
  lazy.follow(location.hash);
  addEventListener("hashchange", () => lazy.follow(location.hash), { signal });
  lazy.finish();
  print(page, lazy, signal);
  return () => {
    shownUntil.abort();
    lazy.end();
    app.replaceChildren();
  };
}

/** What goes on paper is whole, unfolded, and in colours for white paper. */
function print(page: Page, lazy: Lazy, signal: AbortSignal): void {
  let dark = page.dark.value;
  let folded: HTMLDetailsElement[] = [];
  const before = () => {
    lazy.showAll();
    dark = page.dark.value;
    page.dark.set(false);
    folded = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
    for (const details of folded) details.open = true;
  };
  const after = () => {
    page.dark.set(dark);
    for (const details of folded) details.open = false;
  };
  addEventListener("beforeprint", before, { signal });
  addEventListener("afterprint", after, { signal });
}

/** Where memory ran out, else where most was in use. */
function firstSpace(report: Report): number {
  let best = 0;
  const weight = (i: number) => (report.spaces[i].incidents.length > 0 ? 1e18 : 0) + report.spaces[i].peak.bytes;
  report.spaces.forEach((_, i) => {
    if (weight(i) > weight(best)) best = i;
  });
  return best;
}

function title(report: Report): string {
  const headline = report.why?.verdict?.headline;
  return headline ? `${headline} · whyoom` : `${report.title} · whyoom`;
}

function topBar(page: Page, shown: Section[], help: HTMLDialogElement): HTMLElement {
  const { report } = page.model;
  const links = shown.map((section) => h("a", { href: `#${section.id}` }, section.title));
  return h(
    "header",
    { class: "topbar" },
    h(
      "div",
      { class: "first" },
      // Without stacks there is nothing to search for.
      ...brand(report.title, page.dark, page.hasSpaces ? finder(page) : null),
      h("button", { type: "button", class: "icon", "aria-label": "Keys", title: "Keys (?)", onclick: () => help.showModal() }, "?"),
    ),
    h("div", { class: "second" }, h("nav", { "aria-label": "Sections" }, ...links), spaceSelector(page)),
  );
}

function spaceSelector(page: Page): HTMLElement | null {
  const { spaces } = page.model.report;
  if (spaces.length < 2) return null;
  const select = h("select", { "aria-label": "Process and GPU" });
  select.append(...spaces.map((_, i) => h("option", { value: i }, page.model.spaceName(i))));
  select.value = String(page.space.value);
  select.addEventListener("change", () => page.space.set(Number(select.value)));
  page.space.watch((space) => (select.value = String(space)));
  return select;
}

/** Sections that are made when they are first seen or soon after the page is there, and again when another space is chosen. */
class Lazy {
  #page: Page;
  #entries = new Map<Element, Entry>();
  #observer: IntersectionObserver;
  #ended = false;

  constructor(page: Page) {
    this.#page = page;
    this.#observer = new IntersectionObserver(
      (seen) => {
        for (const { isIntersecting, target } of seen) if (isIntersecting) this.#entries.get(target)?.show(page);
      },
      { rootMargin: "300px" },
    );
    page.space.watch(() => {
      page.instant.set(null);
      page.pinned.set(null);
      for (const entry of this.#entries.values()) entry.renew(page);
    });
  }

  add(section: Section): HTMLElement {
    const entry = new Entry(section);
    this.#entries.set(entry.element, entry);
    // What is at the top is drawn at once; an observer would tell of it a frame later.
    if (section.id === "verdict") entry.show(this.#page);
    else this.#observer.observe(entry.element);
    return entry.element;
  }

  /** Makes what is out of sight too, section by section: whoever prints the page or takes a picture of all of it sees all. */
  finish(): void {
    const next = [...this.#entries.values()].find((entry) => !entry.made);
    if (!next) return;
    whenIdle(() => {
      if (this.#ended) return;
      next.show(this.#page);
      this.finish();
    });
  }

  /** Nothing is made any more, and what was made watches no longer. */
  end(): void {
    this.#ended = true;
    this.#observer.disconnect();
    for (const entry of this.#entries.values()) entry.end();
  }

  showAll(): void {
    for (const entry of this.#entries.values()) entry.show(this.#page);
  }

  /** Goes to the section that a link names. Those before it are made first, so that nothing moves afterwards. */
  follow(hash: string): void {
    const target = document.getElementById(hash.slice(1));
    if (!target || !this.#entries.has(target)) return;
    for (const [element, entry] of this.#entries) {
      entry.show(this.#page);
      if (element === target) break;
    }
    target.scrollIntoView();
  }
}

/** The longest that a section waits for its turn. */
const PATIENCE_MILLISECONDS = 100;

function whenIdle(task: () => void): void {
  // Safari has no idle callbacks.
  if ("requestIdleCallback" in window) requestIdleCallback(task, { timeout: PATIENCE_MILLISECONDS });
  else setTimeout(task, PATIENCE_MILLISECONDS);
}

class Entry {
  readonly element: HTMLElement;
  #section: Section;
  #body = h("div", { class: "body" });
  #undo: (() => void) | null = null;

  constructor(section: Section) {
    this.#section = section;
    const heading = h("h2", { id: `${section.id}-title` }, section.title);
    this.element = h("section", { id: section.id, class: `section at-${section.id} waiting`, "aria-labelledby": `${section.id}-title` }, heading, this.#body);
  }

  get made(): boolean {
    return this.#undo !== null;
  }

  show(page: Page): void {
    if (this.#undo) return;
    this.element.classList.remove("waiting");
    const state = this.#section.state(page);
    this.element.hidden = state === "hide";
    this.#undo = () => {};
    if (state === "show") this.#undo = this.#section.mount(this.#body, page);
    else if (state !== "hide") this.#body.append(h("p", { class: "instead" }, state.instead));
  }

  end(): void {
    this.#undo?.();
    this.#undo = null;
  }

  renew(page: Page): void {
    if (!this.#section.ofSpace || !this.#undo) return;
    this.end();
    this.#body.replaceChildren();
    this.show(page);
  }
}
