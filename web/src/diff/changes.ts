// What grew and shrank, by module, call site, kind or phase.
import { bar, choice } from "../controls";
import { h } from "../dom";
import { bytes, count, counted } from "../format";
import type { Groups, View } from "./data";
import { type DiffSection, type State, signed, tone } from "./state";

export const changes: DiffSection = {
  id: "changes",
  title: "Changes",
  isShown: ({ current }) => current !== null && current.views.length > 0,
  mount(body, state) {
    body.append(new Changes(state).element);
    return () => {};
  },
};

type By = "by_module" | "by_site" | "by_kind" | "by_phase";
const WAYS: [By, string][] = [["by_module", "Module"], ["by_site", "Call site"], ["by_kind", "Kind"], ["by_phase", "Phase"]];
const COLUMNS = ["Name", "A", "B", "Difference", "Blocks in A", "Blocks in B"];
const FIRST_ROWS = 30;

interface Row {
  name: string;
  /** As the columns. */
  cells: [string, number, number, number, number, number];
}

class Changes {
  readonly element: HTMLElement;
  #state: State;
  #view: View;
  #by: By;
  #sort = { column: 3, down: true };
  #filter = "";
  #most = FIRST_ROWS;
  #table = h("div");
  #told = h("p", { class: "summary", role: "status" });

  constructor(state: State) {
    this.#state = state;
    const views = state.current?.views ?? [];
    this.#view = views[state.current?.explained_by ?? 0] ?? views[0];
    const ways = WAYS.filter(([by]) => views.some((view) => view[by].groups.length > 0));
    this.#by = ways[0]?.[0] ?? "by_site";
    const moments = views.map(({ moment }, i): [string, string] => [String(i), moment]);
    const filter = h("input", { type: "search", id: "filter", placeholder: "Filter", "aria-label": "Filter by name", autocomplete: "off", spellcheck: "false" });
    filter.addEventListener("input", () => this.#set(() => (this.#filter = filter.value.trim().toLowerCase())));
    this.element = h(
      "div",
      {},
      h(
        "div",
        { class: "toolbar" },
        choice("By", ways, this.#by, (by) => this.#set(() => (this.#by = by))),
        moments.length > 1 ? choice("Moment", moments, String(views.indexOf(this.#view)), (view) => this.#set(() => (this.#view = views[Number(view)]))) : null,
        filter,
      ),
      this.#told,
      this.#table,
    );
    this.#draw();
  }

  #set(change: () => void): void {
    change();
    this.#most = FIRST_ROWS;
    this.#draw();
  }

  #rows(): Row[] {
    const groups: Groups = this.#view[this.#by];
    const rows = groups.groups.map(([name, [a, blocksA, b, blocksB]]): Row => {
      const text = this.#state.string(name) || "(the model itself)";
      return { name: text, cells: [text, a, b, b - a, blocksA, blocksB] };
    });
    const found = this.#filter ? rows.filter(({ name }) => name.toLowerCase().includes(this.#filter)) : rows;
    const { column, down } = this.#sort;
    const order = (x: Row, y: Row): number => {
      if (column === 0) return x.name < y.name ? -1 : x.name > y.name ? 1 : 0;
      const size = (row: Row) => (column === 3 ? Math.abs(row.cells[3]) : (row.cells[column] as number));
      return size(x) - size(y);
    };
    return found.sort((x, y) => (down ? order(y, x) : order(x, y)));
  }

  #draw(): void {
    const rows = this.#rows();
    const { left_out } = this.#view[this.#by];
    const view = this.#view;
    const left = left_out.count > 0 ? ` ${counted(left_out.count, "smaller one")} (${bytes(left_out.sums[0])} in A, ${bytes(left_out.sums[2])} in B) not listed.` : "";
    this.#told.textContent = `At the ${view.moment}: ${bytes(view.a_bytes)} in A, ${bytes(view.b_bytes)} in B, ${signed(view.b_bytes - view.a_bytes)}. ${counted(rows.length, "row")}.${left}`;
    const most = Math.max(1, ...rows.map(({ cells }) => Math.abs(cells[3])));
    const body = h("tbody", {}, ...rows.slice(0, this.#most).map((row) => tableRow(row, most)));
    const more = h("button", { type: "button", class: "quiet" }, `All ${count(rows.length)} rows`);
    more.addEventListener("click", () => ((this.#most = rows.length), this.#draw()));
    const table = h("table", { class: "cards compact changes" }, h("thead", {}, h("tr", {}, ...COLUMNS.map((name, i) => this.#heading(name, i)))), body);
    this.#table.replaceChildren(table, ...(rows.length > this.#most ? [more] : []));
  }

  #heading(name: string, column: number): HTMLElement {
    const { column: by, down } = this.#sort;
    const order = by !== column ? null : down ? "descending" : "ascending";
    const press = () => {
      // Names begin with a, amounts with the most.
      this.#sort = { column, down: by === column ? !down : column > 0 };
      this.#draw();
      this.#table.querySelectorAll<HTMLElement>("thead button")[column]?.focus();
    };
    return h("th", { scope: "col", "aria-sort": order }, h("button", { type: "button", class: "link sort", onclick: press }, name, h("span", { "aria-hidden": "true" }, order === null ? "" : down ? " ↓" : " ↑")));
  }
}

function tableRow({ cells: [name, a, b, amount, blocksA, blocksB] }: Row, most: number): HTMLElement {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, name),
    h("td", { "data-label": "A", class: "number" }, bytes(a)),
    h("td", { "data-label": "B", class: "number" }, bytes(b)),
    h("td", { "data-label": "Difference", class: `amount ${tone(amount)}` }, h("span", {}, signed(amount)), amount === 0 ? null : bar(Math.abs(amount) / most, amount > 0 ? "bad" : "accent")),
    h("td", { "data-label": "Blocks in A", class: "number" }, count(blocksA)),
    h("td", { "data-label": "Blocks in B", class: "number" }, count(blocksB)),
  );
}
