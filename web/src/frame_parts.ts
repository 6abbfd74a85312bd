// Parts of the frame that every page has.
import { h } from "./dom";
import type { Signal } from "./signal";
import { themeButton } from "./theme";

/** The name of the page, and light or dark; `between` stands between them. */
export function brand(title: string, dark: Signal<boolean>, between: HTMLElement | null = null): (HTMLElement | null)[] {
  return [h("span", { class: "brand" }, "whyoom"), h("span", { class: "subject", title }, title), between, h("span", { class: "theme" }, themeButton(dark))];
}

export function footer(version: string, contains: string | undefined): HTMLElement {
  const told = contains ? h("p", {}, `Contains: ${contains}`) : null;
  return h("footer", {}, `Written by whyoom ${version}. This page is one file: it makes no network requests.`, told);
}
