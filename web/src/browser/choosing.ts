// Files from a button, from a drop on it, or from a drop anywhere else.
import { h } from "../dom";
import type { Input } from "./messages";

export type Chosen = (inputs: Input[]) => void;

const inputs = (files: Iterable<File>): Input[] => [...files].map((data) => ({ name: data.name, data }));

/** What was dropped. Folders are among the files, too, but nothing can be read of them. */
function dropped({ files, items }: DataTransfer): Input[] {
  const folders = [...items].filter(({ kind }) => kind === "file").map((item) => item.webkitGetAsEntry()?.isDirectory === true);
  return inputs(files).map((input, i) => ({ ...input, isFolder: folders[i] ?? false }));
}

/** A button that opens the browser's dialog for files, and takes what is dropped on it. */
export function fileButton(label: string, attributes: { class: string; several: boolean }, chosen: Chosen, ...more: HTMLElement[]): HTMLElement {
  const input = h("input", { type: "file", hidden: true, multiple: attributes.several, tabindex: -1 });
  const button = h("button", { type: "button", class: attributes.class, onclick: () => input.click() }, h("b", {}, label), ...more);
  input.addEventListener("change", () => {
    const files = inputs(input.files ?? []);
    input.value = "";
    if (files.length > 0) chosen(files);
  });
  const box = h("div", { class: "chooser" }, button, input);
  listen(box, box, chosen);
  return box;
}

/** What is dropped anywhere on the page is read too: a browser would leave the page to show it. */
export function dropAnywhere(chosen: Chosen): void {
  listen(document, document.documentElement, chosen);
}

function listen(target: EventTarget, marked: Element, chosen: Chosen): void {
  let depth = 0;
  const mark = (change: number) => marked.classList.toggle("dragged", (depth = Math.max(0, depth + change)) > 0);
  const holdsFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files");
  const on = (name: string, handle: (event: DragEvent) => void) => target.addEventListener(name, handle as EventListener);
  on("dragenter", (event) => holdsFiles(event) && mark(1));
  on("dragleave", (event) => holdsFiles(event) && mark(-1));
  on("dragover", (event) => holdsFiles(event) && event.preventDefault());
  on("drop", (event) => {
    mark(-depth);
    if (!event.dataTransfer || !holdsFiles(event) || event.defaultPrevented) return;
    event.preventDefault();
    chosen(dropped(event.dataTransfer));
  });
}
