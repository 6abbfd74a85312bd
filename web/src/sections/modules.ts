// What was live by module of the model: a tree, as file managers have it.
import { bar } from "../controls";
import type { Modules } from "../data";
import { h, styled } from "../dom";
import { bytes, count, counted, duration, percent } from "../format";
import { COLUMNS, type ModuleNode, columns, moduleTree } from "../modules";
import type { Page, Section } from "../page";

export const modules: Section = {
  id: "modules",
  title: "Modules",
  ofSpace: true,
  state: (page) => (page.hasSpaces && page.current.data.modules ? "show" : "hide"),
  mount(body, page) {
    const { modules: found } = page.current.data;
    if (found) mountTree(body, page, found);
    return () => {};
  },
};

const HEADINGS = ["Module", "Total", "Parameters", "Gradients", "Optimizer state", "Activations", "Temporaries", "Other"];

function mountTree(body: HTMLElement, page: Page, found: Modules): void {
  const roots = moduleTree(found, (name) => page.model.string(name));
  const inModules = roots.reduce((sum, root) => sum + root.bytes, 0) + columns(found.kinds, found.left_out.bytes).reduce((sum, one) => sum + one, 0);
  const moment = found.moment === "peak" ? "At the peak" : "When memory ran out";
  const tree = new Tree(found.bytes);
  tree.add(roots, 1);
  if (found.left_out.modules > 0) tree.add([rest(`${count(found.left_out.modules)} smaller modules`, columns(found.kinds, found.left_out.bytes))], 1);
  body.append(
    h("p", { class: "summary" }, `${moment} (${duration(found.time)}, event ${count(found.event)}): ${bytes(inModules)} of ${bytes(found.bytes)} (${percent(inModules / found.bytes)}) belong to ${counted(found.modules.length + found.left_out.modules, "module")}.`),
    tree.element,
    h("p", { class: "footnote" }, "Members of a list are one row until they are opened. Enter or → opens a row, ← closes it."),
  );
  // One outermost module says nothing that the summary does not.
  if (roots.length === 1) tree.open(0);
}

function rest(label: string, amounts: number[]): ModuleNode {
  return { label, amounts, bytes: amounts.reduce((sum, one) => sum + one, 0), each: false, hasInside: false, inside: () => [] };
}

interface Row {
  node: ModuleNode;
  level: number;
  element: HTMLTableRowElement;
}

/** Rows in order; what is closed has none of its own. */
class Tree {
  readonly element: HTMLTableElement;
  #rows: Row[] = [];
  #body = h("tbody", { role: "rowgroup" });
  #whole: number;

  constructor(whole: number) {
    this.#whole = whole;
    const head = HEADINGS.map((text) => h("th", { scope: "col", role: "columnheader" }, text));
    this.element = h("table", { class: "cards modules", role: "treegrid", "aria-label": "Memory by module" }, h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...head)), this.#body);
    this.element.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Puts rows behind all others. */
  add(nodes: ModuleNode[], level: number): void {
    this.#insert(this.#rows.length, nodes, level);
  }

  open(at: number): void {
    const { node, level, element } = this.#rows[at];
    if (!node.hasInside || element.getAttribute("aria-expanded") === "true") return;
    element.setAttribute("aria-expanded", "true");
    this.#insert(at + 1, node.inside(), level + 1);
  }

  #close(at: number): void {
    const { level, element } = this.#rows[at];
    element.setAttribute("aria-expanded", "false");
    let end = at + 1;
    while (end < this.#rows.length && this.#rows[end].level > level) this.#rows[end++].element.remove();
    this.#rows.splice(at + 1, end - at - 1);
  }

  #insert(at: number, nodes: ModuleNode[], level: number): void {
    const rows = nodes.map((node) => ({ node, level, element: this.#row(node, level) }));
    const before = this.#rows[at]?.element ?? null;
    for (const { element } of rows) this.#body.insertBefore(element, before);
    this.#rows.splice(at, 0, ...rows);
    // One row can be reached with Tab, the others from it with arrows.
    if (!this.#rows.some(({ element }) => element.tabIndex === 0) && this.#rows[0]) this.#rows[0].element.tabIndex = 0;
  }

  #row(node: ModuleNode, level: number): HTMLTableRowElement {
    const cell = (label: string, amount: number) => h("td", { role: "gridcell", "data-label": label, class: `number${amount === 0 ? " zero" : ""}` }, amount === 0 ? "–" : bytes(amount));
    const name = h("th", { scope: "row", role: "rowheader" }, styled(h("span", { class: "name" }, node.label), { "--level": String(level - 1) }));
    const total = h("td", { role: "gridcell", "data-label": "Total", class: "amount" }, h("span", {}, bytes(node.bytes)), bar(node.bytes / this.#whole));
    const cells = node.each ? [h("td", { role: "gridcell", colspan: COLUMNS.length + 2 })] : [total, ...node.amounts.map((amount, i) => cell(HEADINGS[i + 2], amount))];
    const element = h("tr", { role: "row", "aria-level": level, "aria-expanded": node.hasInside ? "false" : null, tabindex: -1 }, name, ...cells);
    element.addEventListener("click", () => this.#toggle(this.#rows.findIndex((row) => row.element === element)));
    return element;
  }

  #toggle(at: number): void {
    if (!this.#rows[at].node.hasInside) return;
    if (this.#rows[at].element.getAttribute("aria-expanded") === "true") this.#close(at);
    else this.open(at);
  }

  #key(event: KeyboardEvent): void {
    const at = this.#rows.findIndex(({ element }) => element === document.activeElement);
    if (at < 0) return;
    const row = this.#rows[at];
    const isOpen = row.element.getAttribute("aria-expanded") === "true";
    const outer = () => {
      let above = at - 1;
      while (above >= 0 && this.#rows[above].level >= row.level) above--;
      return above;
    };
    if (event.key === "ArrowDown") this.#focus(at + 1);
    else if (event.key === "ArrowUp") this.#focus(at - 1);
    else if (event.key === "Home") this.#focus(0);
    else if (event.key === "End") this.#focus(this.#rows.length - 1);
    else if (event.key === "ArrowRight") isOpen ? this.#focus(at + 1) : this.open(at);
    else if (event.key === "ArrowLeft") isOpen ? this.#close(at) : this.#focus(outer());
    else if (event.key === "Enter" || event.key === " ") this.#toggle(at);
    else return;
    event.preventDefault();
  }

  #focus(at: number): void {
    const row = this.#rows[at];
    if (!row) return;
    for (const { element } of this.#rows) element.tabIndex = -1;
    row.element.tabIndex = 0;
    row.element.focus();
  }
}
