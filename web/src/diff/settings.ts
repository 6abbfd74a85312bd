// Settings, versions, GPUs and code that differ.
import { h } from "../dom";
import type { DiffRank } from "./data";
import type { DiffSection } from "./state";

export const settings: DiffSection = {
  id: "settings",
  title: "Settings that differ",
  isShown: ({ current }) => (current?.settings.length ?? 0) > 0,
  mount(body, { current }) {
    if (current) body.append(table(current));
    return () => {};
  },
};

function table({ settings: all }: DiffRank): HTMLElement {
  const value = (label: string, text: string | null) => h("td", { "data-label": label }, text === null ? h("span", { class: "absent" }, "not set") : h("code", {}, text));
  const row = ({ name, a, b, explains }: DiffRank["settings"][number]) =>
    h("tr", {}, h("th", { scope: "row" }, name), value("A", a), value("B", b), h("td", { "data-label": "Explains" }, explains ? "explains the difference" : ""));
  const head = ["Setting", "In A", "In B", ""].map((text) => h("th", { scope: "col" }, text));
  return h("table", { class: "cards settings" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...all.map(row)));
}
