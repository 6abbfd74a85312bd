// Elements made in one expression. All text goes in as text: nothing of a report is ever read as HTML.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: any) => void)>;

/** An element: `h("button", { class: "copy", onclick: f }, "Copy")`. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** Puts children at the end of an element, skipping what is absent. */
export function append(element: Element, children: Child[]): void {
  for (const child of children) if (child) element.append(child);
}

/** Sets custom properties and styles through the object model, which content policies allow. */
export function styled<E extends HTMLElement>(element: E, styles: Record<string, string>): E {
  for (const [name, value] of Object.entries(styles)) element.style.setProperty(name, value);
  return element;
}

/** A canvas fitted to its CSS size at the screen's own resolution. */
export function fitCanvas(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  styled(canvas, { width: `${width}px`, height: `${height}px` });
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser cannot draw on a canvas");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** Calls `changed` with the element's width: at once where it has one, and whenever it changes. */
export function onWidth(element: HTMLElement, changed: (width: number) => void): () => void {
  let last = 0;
  const measured = (exact: number) => {
    const width = Math.floor(exact);
    if (width > 0 && width !== last) changed((last = width));
  };
  // An observer tells of it only with the next frame: too late for what is about to be printed.
  measured(element.clientWidth);
  const observer = new ResizeObserver(([entry]) => measured(entry.contentRect.width));
  observer.observe(element);
  return () => observer.disconnect();
}
