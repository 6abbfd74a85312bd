// Whose memory it was: processes, devices, and the totals of each.
import { bar } from "../controls";
import { h } from "../dom";
import { bytes, count } from "../format";
import type { Page, Section } from "../page";

export const processes: Section = {
  id: "processes",
  title: "Processes and devices",
  ofSpace: false,
  state: (page) => (page.model.report.processes.length > 0 || page.hasSpaces ? "show" : "hide"),
  mount(body, page) {
    if (page.hasSpaces) body.append(spaceTable(page));
    body.append(h("div", { class: "processes" }, ...page.model.report.processes.map(processCard)));
    return () => {};
  },
};

function spaceTable(page: Page): HTMLElement {
  const { spaces } = page.model.report;
  const head = ["Space", "Peak in use", "Peak reserved", "Out of memory", "Events", ...(spaces.length > 1 ? ["In the charts"] : [])];
  const table = h("table", { class: "cards spaces" }, h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))));
  const rows = spaces.map((space, index) => {
    const reserved = space.curve.reserved.reduce(highest, { sum: 0, most: 0 }).most;
    const share = space.capacity_bytes ? space.peak.bytes / space.capacity_bytes : null;
    const show = h("button", { type: "button", class: "quiet", onclick: () => page.space.set(index) }, "Show");
    const row = h(
      "tr",
      {},
      h("th", { scope: "row" }, page.model.spaceName(index), h("span", { class: "id" }, space.capacity_bytes === null ? "" : `${bytes(space.capacity_bytes)} total`)),
      h("td", { "data-label": "Peak in use", class: "amount" }, h("span", {}, bytes(space.peak.bytes)), share === null ? null : bar(share)),
      h("td", { "data-label": "Peak reserved", class: "number" }, bytes(reserved)),
      h("td", { "data-label": "Out of memory", class: "number" }, space.incidents.length === 0 ? "never" : count(space.incidents.length)),
      h("td", { "data-label": "Events", class: "number" }, count(space.events)),
      spaces.length > 1 ? h("td", {}, show) : null,
    );
    const mark = () => {
      row.classList.toggle("chosen", spaces.length > 1 && page.space.value === index);
      show.textContent = page.space.value === index ? "Shown" : "Show";
    };
    page.space.watch(mark);
    mark();
    return row;
  });
  table.append(h("tbody", {}, ...rows));
  return table;
}

function highest(state: { sum: number; most: number }, difference: number): { sum: number; most: number } {
  const sum = state.sum + difference;
  return { sum, most: Math.max(state.most, sum) };
}

const FIRST_FACTS = 8;

function processCard(process: { name: string; facts: [string, string][] }): HTMLElement {
  const list = (facts: [string, string][]) => h("dl", {}, ...facts.flatMap(([label, text]) => [h("dt", {}, label), h("dd", {}, printable(text))]));
  const rest = process.facts.slice(FIRST_FACTS);
  const more = rest.length > 0 ? h("details", {}, h("summary", {}, `${rest.length} more`), list(rest)) : null;
  return h("article", { class: "process" }, h("h3", {}, process.name), list(process.facts.slice(0, FIRST_FACTS)), more);
}

/** Words of a command line may be parted by bytes that no font has. */
function printable(text: string): string {
  return text.replace(/[\u0000-\u001f]+/g, " ");
}
