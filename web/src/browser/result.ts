// The verdict, first as text and then as the report; and what can be done with it.
import type { Report } from "../data";
import type { DiffDocument } from "../diff/data";
import { copy } from "../controls";
import { showDiff } from "../diff/frame";
import { h } from "../dom";
import { bytes } from "../format";
import { showReport } from "../frame";
import type { Signal } from "../signal";
import { type Chosen, fileButton } from "./choosing";
import type { Verdict } from "./messages";
import { fileName, save } from "./saving";

/** A recording of `run --flight` keeps a model of its whole run, but only its last events can be drawn. */
const DIFFERS = "The text below is about the whole run. The report under it is made from the events that were kept, the last ones, and its verdict differs.";

export interface Actions {
  /** The report or the comparison as one file; null where it cannot be had any more. */
  file(): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Null where there is nothing to compare. */
  compare: Chosen | null;
  startOver(): void;
  announce(text: string): void;
}

export class Result {
  readonly element: HTMLElement;
  #heading: HTMLElement;
  #notice = h("p", { class: "notice", role: "alert", hidden: true });
  #text: HTMLDetailsElement;
  #saveReport: HTMLButtonElement;
  #report = h("div", { class: "report" });
  #what: string;
  #coming = h("p", { class: "coming" });
  #undo: (() => void) | null = null;
  #actions: Actions;

  /** `what` is "report" or "comparison". */
  constructor(title: string, what: string, verdict: Verdict, actions: Actions) {
    this.#actions = actions;
    this.#what = what;
    this.thinking();
    const asText = `The ${what === "report" ? "verdict" : what} as text`;
    this.#heading = h("h2", { class: "title", tabindex: -1 }, title);
    this.#saveReport = h("button", { type: "button", class: "quiet", disabled: true, onclick: () => void this.#save(title, what) }, `Save the ${what} as one file`);
    this.#text = h("details", { class: "as-text", open: true }, h("summary", {}, asText), h("pre", { tabindex: 0, "aria-label": asText }, verdict.text));
    const buttons = h(
      "div",
      { class: "actions" },
      this.#copyButton(verdict.text),
      this.#saveReport,
      h("button", { type: "button", class: "quiet", onclick: () => save(fileName(title, ".json"), "application/json", verdict.json) }, "Save the JSON"),
      actions.compare && fileButton("Compare with another run", { class: "quiet", several: false }, actions.compare),
      h("button", { type: "button", class: "quiet", onclick: () => actions.startOver() }, "Start over"),
    );
    this.element = h("div", { class: "outcome" }, h("section", { class: "given", "aria-label": "The file and its verdict" }, this.#heading, this.#notice, buttons, this.#text, this.#coming), this.#report);
  }

  focus(): void {
    this.#heading.focus({ preventScroll: true });
  }

  /** What went wrong since, without taking the verdict away. */
  tell(text: string): void {
    this.#notice.textContent = text;
    this.#notice.hidden = text === "";
  }

  /** It is read once more for the report. */
  read(done: number, size: number): void {
    this.#coming.textContent = `Reading it again for the ${this.#what}: ${bytes(done)} of ${bytes(size)}`;
  }

  thinking(): void {
    this.#coming.textContent = `Drawing the ${this.#what} …`;
  }

  /** `differs`: the report has another verdict than the text, which is then the better one. */
  show(found: Report | DiffDocument, dark: Signal<boolean>, differs: boolean): void {
    this.#coming.remove();
    this.#undo = found.schema === "whyoom.report" ? showReport(this.#report, found, dark) : showDiff(this.#report, found, dark);
    if (differs) this.tell(DIFFERS);
    // The report begins with the same verdict; but nobody loses what they are about to copy.
    else if (!this.#isSelected()) this.#text.open = false;
    this.#saveReport.disabled = false;
  }

  /** No report will come. */
  end(text: string): void {
    this.#coming.remove();
    this.#saveReport.disabled = true;
    this.tell(text);
  }

  remove(): void {
    this.#undo?.();
    this.element.remove();
  }

  #isSelected(): boolean {
    const selection = getSelection();
    return selection !== null && !selection.isCollapsed && selection.containsNode(this.#text, true);
  }

  #copyButton(text: string): HTMLElement {
    const button = h("button", { type: "button", class: "quiet" }, "Copy the text");
    button.addEventListener("click", async () => {
      const copied = await copy(text);
      if (!copied) this.#text.open = true;
      button.textContent = copied ? "Copied" : "Select it below";
      this.#actions.announce(button.textContent);
      setTimeout(() => (button.textContent = "Copy the text"), 1600);
    });
    return button;
  }

  async #save(title: string, what: string): Promise<void> {
    this.#saveReport.disabled = true;
    const bytes = await this.#actions.file();
    if (!bytes) return; // why, the job has told
    this.#saveReport.disabled = false;
    save(fileName(title, ".html"), "text/html", bytes);
    this.#actions.announce(`The ${what} is saved`);
  }
}
