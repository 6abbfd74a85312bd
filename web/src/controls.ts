// Controls that several sections use.
import { h, styled } from "./dom";

/** A row of buttons of which one is pressed. */
export function choice<T extends string>(label: string, options: [T, string][], chosen: T, pick: (value: T) => void): HTMLElement {
  const buttons = options.map(([value, text]) =>
    h("button", { type: "button", "aria-pressed": String(value === chosen), onclick: () => press(value) }, text),
  );
  const press = (value: T) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(options[i][0] === value)));
    pick(value);
  };
  return h("div", { class: "choice", role: "group", "aria-label": label }, ...buttons);
}

/** A button that copies a text, and says so. */
export function copyButton(text: string, what: string): HTMLElement {
  const button = h("button", { type: "button", class: "copy", "aria-label": `Copy ${what}` }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text)) ? "Copied" : "Select it";
    setTimeout(() => (button.textContent = "Copy"), 1600);
  });
  return button;
}

/** Whether the text is now on the clipboard. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Pages opened from disk may have no clipboard of their own. */
function copyBySelection(text: string): boolean {
  const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  return copied;
}

/** A line to paste, with its button. */
export function pasteLine(text: string, what: string): HTMLElement {
  return h("div", { class: "paste" }, h("code", { tabindex: 0 }, text), copyButton(text, what));
}

/** A bar for a share of something; `limit` marks a second share on it. */
export function bar(share: number, tone: "accent" | "good" | "bad" | "plain" = "accent", limit?: number): HTMLElement {
  const percent = (value: number) => `${Math.max(0, Math.min(1, value)) * 100}%`;
  const element = styled(h("span", { class: `bar ${tone}`, "aria-hidden": "true" }, h("span", { class: "fill" })), {
    "--share": percent(share),
  });
  if (limit !== undefined && limit <= 1) element.append(styled(h("span", { class: "limit" }), { "--at": percent(limit) }));
  return element;
}

/** A patch of a colour before a name. */
export function swatch(colour: string): HTMLElement {
  return styled(h("span", { class: "swatch", "aria-hidden": "true" }), { "--colour": colour });
}
