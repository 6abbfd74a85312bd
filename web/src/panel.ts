// The side panel (at the bottom on a phone): what was pinned, with its whole stack.
import { copyButton } from "./controls";
import { h } from "./dom";
import { counted } from "./format";
import { type Frame, frameText, programFrames } from "./model";
import type { Page, Pinned } from "./page";

export function panel(page: Page): HTMLElement {
  const element = h("aside", { class: "panel", "aria-label": "Details", tabindex: -1, hidden: true });
  page.pinned.watch((pinned) => {
    element.hidden = pinned === null;
    document.body.classList.toggle("has-panel", pinned !== null);
    if (pinned) element.replaceChildren(...content(page, pinned));
    if (pinned) page.announce(`Details of ${pinned.title}`);
  });
  return element;
}

function content(page: Page, pinned: Pinned): Node[] {
  const close = h("button", { type: "button", class: "icon close", "aria-label": "Close details", onclick: () => page.pinned.set(null) }, "×");
  const out: Node[] = [
    h("header", {}, h("h2", {}, pinned.title), close),
    h("dl", {}, ...facts(page, pinned).flatMap(([label, value]) => [h("dt", {}, label), h("dd", {}, value)])),
  ];
  if (pinned.stack === null) return out;
  const frames = page.model.frames(pinned.stack);
  if (frames.length === 0) return [...out, h("p", { class: "footnote" }, "No stack recorded.")];
  const find = h("button", { type: "button", class: "quiet", onclick: () => page.lookFor(page.model.place(pinned.stack ?? 0)) }, "Highlight this call site");
  const text = frames.map((frame) => `${frame.file}:${frame.line} ${frame.function}`).join("\n");
  out.push(h("div", { class: "actions" }, h("h3", {}, "Stack"), copyButton(text, "the stack"), find), stackList(frames));
  return out;
}

/** What is known, and the module. */
function facts(page: Page, { facts, module, stack }: Pinned): [string, string][] {
  const name = module ?? (stack === null ? null : page.model.module(stack));
  return name ? [...facts, ["Module", name]] : facts;
}

/** Frames, innermost first, with those of compiled libraries folded away. */
function stackList(frames: Frame[]): HTMLElement {
  const own = new Set(programFrames(frames, (frame) => frame.file));
  const items = frames.map((frame) => {
    const item = h("li", { title: `${frame.file}:${frame.line}` }, h("b", {}, frame.function || "unknown"), h("span", {}, frameText({ ...frame, function: "" })));
    item.hidden = !own.has(frame);
    return item;
  });
  const list = h("ol", { class: "stack" }, ...items);
  const hidden = items.filter((item) => item.hidden);
  if (hidden.length === 0) return list;
  const show = h("button", { type: "button", class: "link" }, `Show ${counted(hidden.length, "frame")} of libraries`);
  show.addEventListener("click", () => (hidden.forEach((item) => (item.hidden = false)), show.remove()));
  return h("div", {}, list, show);
}
