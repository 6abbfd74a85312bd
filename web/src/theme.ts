// Light or dark: what the system prefers, unless the reader has chosen.
import { h } from "./dom";
import { Signal } from "./signal";

const KEY = "whyoom-theme";

function remembered(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // a page opened from disk may have no storage
  }
}

function remember(theme: string): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // it is chosen for this reading only, then
  }
}

/** The theme as a signal; the document follows it. */
export function theme(): Signal<boolean> {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const choice = remembered();
  const dark = new Signal(choice ? choice === "dark" : system.matches);
  const apply = (value: boolean) => (document.documentElement.dataset.theme = value ? "dark" : "light");
  apply(dark.value);
  dark.watch(apply);
  system.addEventListener("change", () => {
    if (!remembered()) dark.set(system.matches);
  });
  return dark;
}

export function themeButton(dark: Signal<boolean>): HTMLElement {
  const button = h("button", { type: "button", class: "icon" });
  const label = (value: boolean) => {
    button.textContent = value ? "☀" : "☾";
    button.setAttribute("aria-label", value ? "Light colours" : "Dark colours");
    button.title = value ? "Light colours" : "Dark colours";
  };
  label(dark.value);
  dark.watch(label);
  button.addEventListener("click", () => {
    dark.set(!dark.value);
    remember(dark.value ? "dark" : "light");
  });
  return button;
}
