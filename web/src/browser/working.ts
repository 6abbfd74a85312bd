// What is shown while the worker reads: how far it is, and how to end it.
import { h } from "../dom";
import { bytes } from "../format";

export class Working {
  readonly element: HTMLElement;
  #heading = h("h1", { tabindex: -1 });
  #bar = h("progress", { "aria-label": "Bytes read" });
  #text = h("p", { class: "done" });
  #announce: (text: string) => void;
  #quarter = 0;

  constructor(title: string, cancel: () => void, announce: (text: string) => void) {
    this.#announce = announce;
    this.#heading.textContent = title;
    this.#text.textContent = "Starting";
    this.element = h("main", { class: "working" }, this.#heading, this.#bar, this.#text, h("button", { type: "button", class: "quiet", onclick: cancel }, "Cancel"));
  }

  focus(): void {
    this.#heading.focus();
  }

  read(done: number, size: number): void {
    this.#bar.max = Math.max(1, size);
    this.#bar.value = done;
    this.#text.textContent = `${bytes(done)} of ${bytes(size)} read`;
    // Spoken seldom: only the eye can leave out what it does not want.
    const quarter = size > 0 ? Math.floor((done / size) * 4) : 0;
    if (quarter > this.#quarter && quarter < 4) this.#announce(`${quarter * 25} percent read`);
    this.#quarter = Math.max(quarter, this.#quarter);
  }

  thinking(text: string): void {
    this.#bar.removeAttribute("value");
    this.#bar.setAttribute("aria-label", text);
    this.#text.textContent = text;
    this.#announce(text);
  }
}
