// The search box, and what it finds.
import { h } from "./dom";
import { type PlaceTotal, byPlace } from "./flame";
import { bytes, count, counted } from "./format";
import type { Page } from "./page";
import { search } from "./search";

const MOST_RESULTS = 8;
const PAUSE = 120;

export function finder(page: Page): HTMLElement {
  const input = h("input", {
    type: "search",
    placeholder: "Search call sites, functions, addresses",
    "aria-label": "Search call sites, stacks, functions, blocks",
    autocomplete: "off",
    spellcheck: "false",
    id: "search",
  });
  const results = h("div", { class: "results", role: "region", "aria-label": "Search results", hidden: true });
  let timer = 0;
  const run = () => {
    page.search.set(search(page.model, input.value));
    const empty = page.search.value.empty;
    results.hidden = empty;
    if (!empty) results.replaceChildren(...found(page));
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(run, PAUSE);
  });
  const box = h("div", { class: "finder", role: "search" }, input, h("kbd", { "aria-hidden": "true" }, "/"), results);
  // Results are in the way once the reader goes on to look at the page.
  box.addEventListener("focusin", () => (results.hidden = page.search.value.empty));
  box.addEventListener("focusout", (event) => {
    if (!box.contains(event.relatedTarget as Node | null)) results.hidden = true;
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    if (results.hidden || !input.value) input.blur();
    if (document.activeElement !== input) input.focus();
    if (input.value) {
      input.value = "";
      run();
    }
  });
  page.lookFor = (text) => {
    input.value = text;
    run();
    results.hidden = true;
    page.announce(`${text} is highlighted`);
  };
  return box;
}

function found(page: Page): Node[] {
  const hits = page.search.value;
  const { stacks } = page.model.report;
  const number = stacks.reduce((sum, _, stack) => sum + (hits.stack(stack) ? 1 : 0), 0);
  const live = page.hasSpaces ? page.current.data.peak.stacks.filter((entry) => hits.stack(entry.stack) || hits.name(entry.kind)) : [];
  const places = byPlace(page.model, live);
  const total = places.reduce((sum, place) => sum + place.bytes, 0);
  const blocks = page.hasSpaces ? blocksAt(page) : [];
  return [
    h("p", { class: "footnote" }, `${counted(number, "stack")} of ${count(stacks.length)}; ${bytes(total)} at the peak`),
    ...blocks,
    ...places.slice(0, MOST_RESULTS).map((place) => result(page, place)),
  ];
}

function result(page: Page, place: PlaceTotal): HTMLElement {
  const press = () =>
    page.pinned.set({ title: place.place, facts: [["At the peak", bytes(place.bytes)], ["Blocks", count(place.blocks)], ["Kind", place.kind]], stack: place.stack });
  return h("button", { type: "button", class: "result", onclick: press }, h("span", {}, place.place), h("b", {}, bytes(place.bytes)));
}

/** Blocks that ever held the address that was typed. */
function blocksAt(page: Page): HTMLElement[] {
  const { blocks } = page.current;
  const out: HTMLElement[] = [];
  for (let i = 0; i < blocks.size.length && out.length < MOST_RESULTS; i++) {
    if (!page.search.value.address(blocks.address[i], blocks.size[i])) continue;
    const stack = blocks.stack[i];
    const name = `0x${blocks.address[i].toString(16)} ${page.model.place(stack)}`;
    const facts: [string, string][] = [["Size", bytes(blocks.size[i])], ["Address", `0x${blocks.address[i].toString(16)}`]];
    const press = () => page.pinned.set({ title: page.model.place(stack), facts, stack });
    out.push(h("button", { type: "button", class: "result", onclick: press }, h("span", {}, name), h("b", {}, bytes(blocks.size[i]))));
  }
  return out;
}
