// The frame of the page of a comparison: the bar at the top, and the sections of the chosen rank below it.
import { h } from "../dom";
import { brand, footer } from "../frame_parts";
import type { Signal } from "../signal";
import type { DiffDocument } from "./data";
import { SECTIONS } from "./sections";
import { type DiffSection, State, rankName } from "./state";

/** Fills `app`. The returned function takes the comparison away again, and what it listened to with it. */
export function showDiff(app: HTMLElement, diff: DiffDocument, dark: Signal<boolean>): () => void {
  const shownUntil = new AbortController();
  const state = new State(diff, dark);
  const spoken = h("div", { class: "offscreen", role: "status", "aria-live": "polite" });
  const main = h("main", { id: "main" });
  const links = h("nav", { "aria-label": "Sections" });
  app.replaceChildren(
    h("a", { class: "skip", href: "#main" }, "To the answer"),
    h("header", { class: "topbar" }, h("div", { class: "first" }, ...brand(diff.title, dark)), h("div", { class: "second" }, links, rankSelector(state))),
    h("div", { class: "columns" }, main),
    footer(diff.whyoom, diff.contains),
    spoken,
  );
  document.title = `${diff.answer} · whyoom`;
  let undo: (() => void)[] = [];
  const fill = () => {
    undo.forEach((f) => f());
    const shown = SECTIONS.filter((section) => section.isShown(state));
    links.replaceChildren(...shown.map(({ id, title }) => h("a", { href: `#${id}` }, title)));
    main.replaceChildren(...shown.map(element));
    undo = shown.map((section) => section.mount(document.querySelector(`#${section.id} .body`) as HTMLElement, state));
  };
  fill();
  state.rank.watch(() => {
    fill();
    scrollTo(0, 0);
    if (state.current) spoken.textContent = `Comparison of ${rankName(state.current)}`;
  });
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
  keys(shownUntil.signal);
  print(dark, shownUntil.signal);
  return () => {
    shownUntil.abort();
    undo.forEach((f) => f());
    app.replaceChildren();
  };
}

function element({ id, title }: DiffSection): HTMLElement {
  // The answer is at the top as a verdict is, in its style.
  const as = id === "answer" ? "verdict" : id;
  return h("section", { id, class: `section at-${as}`, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), h("div", { class: "body" }));
}

function rankSelector(state: State): HTMLElement | null {
  const { ranks } = state.document;
  if (ranks.length < 2) return null;
  const select = h("select", { "aria-label": "Rank" });
  select.append(...ranks.map((rank, i) => h("option", { value: i }, rankName(rank))));
  select.addEventListener("change", () => state.rank.set(Number(select.value)));
  state.rank.watch((rank) => (select.value = String(rank)));
  return select;
}

function keys(signal: AbortSignal): void {
  const pressed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLElement && event.target.matches("input, textarea, select")) return;
    if (event.key === "/") document.getElementById("filter")?.focus();
    else if (event.key === "d") document.querySelector<HTMLButtonElement>(".topbar .theme button")?.click();
    else return;
    event.preventDefault();
  };
  document.addEventListener("keydown", pressed, { signal });
}

/** Paper is white, and nothing on it unfolds. */
function print(dark: Signal<boolean>, signal: AbortSignal): void {
  let before = dark.value;
  let folded: HTMLDetailsElement[] = [];
  const whiten = () => {
    before = dark.value;
    dark.set(false);
    folded = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
    for (const details of folded) details.open = true;
  };
  const restore = () => {
    dark.set(before);
    for (const details of folded) details.open = false;
  };
  addEventListener("beforeprint", whiten, { signal });
  addEventListener("afterprint", restore, { signal });
}
