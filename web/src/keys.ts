// Keys of the whole page, and the list of them.
import { h } from "./dom";
import type { Page } from "./page";

const KEYS: [string, string][] = [
  ["/", "search"],
  ["Esc", "close details, clear the search, leave the zoom"],
  ["← →", "move in the timeline, or from block to block in the map (focus it first)"],
  ["+ −", "zoom in the timeline"],
  ["0", "the full run"],
  ["↑ ↓", "from segment to segment in the map"],
  ["Enter", "details of what is focused"],
  ["d", "dark or light"],
  ["?", "this list"],
];

/** The list, closed; and the keys, listened to until `signal` says otherwise. */
export function keys(page: Page, signal: AbortSignal): HTMLDialogElement {
  const dialog = h(
    "dialog",
    { class: "keys", "aria-label": "Keys" },
    h("h2", {}, "Keys"),
    h("dl", {}, ...KEYS.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("p", { class: "footnote" }, "In the timeline: drag to zoom, Ctrl + wheel (or the wheel after a click), double click for the full run; a click pins the stack and moves the address map there."),
    h("form", { method: "dialog" }, h("button", { class: "quiet" }, "Close")),
  );
  const pressed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key === "/") document.getElementById("search")?.focus();
    else if (event.key === "?") dialog.open ? dialog.close() : dialog.showModal();
    else if (event.key === "d") document.querySelector<HTMLButtonElement>(".topbar .theme button")?.click();
    else if (event.key === "Escape" && page.pinned.value) page.pinned.set(null);
    else if (event.key === "Escape" && !page.search.value.empty) page.lookFor("");
    else return;
    event.preventDefault();
  };
  document.addEventListener("keydown", pressed, { signal });
  return dialog;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select");
}
