// What was live at the peak: as a flame graph, and by place.
import { bar, choice, swatch } from "../controls";
import { h, styled } from "../dom";
import { type FlameNode, type PlaceTotal, UNKNOWN, byPlace, grow, layOut, trunk } from "../flame";
import { bytes, count, counted, duration, percent } from "../format";
import { type SpaceModel, frameText } from "../model";
import { type Page, type Section, absent } from "../page";

export const peak: Section = {
  id: "peak",
  title: "What was live at the peak",
  ofSpace: true,
  state: (page) =>
    page.hasSpaces && page.current.data.peak.stacks.length > 0
      ? "show"
      : absent(page, "A recording (whyoom run), or a PyTorch snapshot with stacks, would show what was live at the peak here."),
  mount,
};

const ROW = 24;
const MOST_FLAMES = 1500;
const FIRST_PLACES = 12;

type By = "program" | "all" | "module";

/** The tree that is drawn, and what its parts are called. */
interface Grown {
  whole: FlameNode;
  name(node: FlameNode): string;
  hit(node: FlameNode): boolean;
  warmth(node: FlameNode): number;
}

function mount(body: HTMLElement, page: Page): () => void {
  const { peak: at } = page.current.data;
  const all = (stack: number) => page.model.report.stacks[stack] ?? [];
  const own = (stack: number) => page.model.ownFrameNumbers(stack);
  const hasOthers = at.stacks.some(({ stack }) => own(stack).length < all(stack).length);
  const graph = h("div", { class: "flames", role: "group", "aria-label": "Flame graph of the peak" });
  const hint = h("p", { class: "summary flame-hint" });
  const hasModules = at.stacks.some(({ module }) => module !== undefined);
  let grown: Grown;
  let root: FlameNode;
  const draw = () => drawFlames(graph, hint, page, grown, root, (next) => ((root = next), draw()));
  const choose = (by: By) => {
    grown = by === "module" ? byModule(page, at.stacks) : byFrame(page, at.stacks, by === "all" ? all : own);
    root = trunk(grown.whole);
    draw();
  };
  choose("program");
  const ways: [By, string][] = [["program", hasOthers || !hasModules ? "The program's frames" : "By call site"]];
  if (hasOthers) ways.push(["all", "All frames"]);
  if (hasModules) ways.push(["module", "By module"]);
  body.append(
    h("p", { class: "summary" }, `${bytes(at.bytes)} at ${duration(at.time)}, event ${count(at.event)}. Outer calls at the top, allocating calls at the bottom.`),
    ways.length > 1 ? h("div", { class: "toolbar" }, choice<By>("Flame graph", ways, "program", choose)) : "",
    graph,
    hint,
    h("h3", {}, "By call site"),
    placeTable(page, byPlace(page.model, at.stacks), at.bytes),
  );
  const undo = [page.search.watch(draw), page.dark.watch(draw)];
  return () => undo.forEach((f) => f());
}

type Entry = SpaceModel["data"]["peak"]["stacks"][number];

function byFrame(page: Page, entries: Entry[], framesOf: (stack: number) => number[]): Grown {
  return {
    whole: grow(entries, framesOf),
    name(node) {
      if (node.frame === UNKNOWN) return "no stack recorded";
      return node.frame < 0 ? "everything" : frameText(page.model.frame(node.frame));
    },
    hit: (node) => node.frame >= 0 && page.search.value.frame(node.frame),
    warmth: (node) => warmth(node.frame, page),
  };
}

/** From the outermost module inwards; what each holds itself, by kind. */
function byModule(page: Page, entries: Entry[]): Grown {
  const names: string[] = [];
  const numbers = new Map<string, number>();
  const number = (name: string) => numbers.get(name) ?? (numbers.set(name, names.push(name) - 1), names.length - 1);
  const path = (entry: Entry) => {
    const name = page.model.moduleName(entry.module ?? -1);
    return name === null ? [] : [...name.split("."), entry.kind].map(number).reverse();
  };
  const text = (node: FlameNode) => (node.frame === UNKNOWN ? "no module known" : node.frame < 0 ? "everything" : names[node.frame]);
  return { whole: grow(entries, (_stack, entry) => path(entry)), name: text, hit: (node) => page.search.value.name(text(node)), warmth: (node) => node.depth % 5 };
}

function drawFlames(graph: HTMLElement, hint: HTMLElement, page: Page, grown: Grown, root: FlameNode, zoom: (to: FlameNode) => void): void {
  const { whole } = grown;
  const flames = layOut(root, 1 / 700, MOST_FLAMES);
  const search = page.search.value;
  const rows = flames.reduce((most, flame) => Math.max(most, flame.row), 0) + 1;
  let matched = 0;
  const buttons = flames.map(({ node, left, width, row }) => {
    const hit = !search.empty && grown.hit(node);
    if (hit) matched++;
    const text = grown.name(node);
    const title = `${text}\n${bytes(node.bytes)} (${percent(node.bytes / whole.bytes)}) in ${counted(node.blocks, "block")}`;
    const element = h(
      "button",
      { type: "button", class: `flame${hit ? " hit" : search.empty ? "" : " dim"}`, title, "aria-label": title, onclick: () => press(node) },
      width > 0.025 ? text : "",
    );
    return styled(element, {
      left: `${left * 100}%`,
      width: `${width * 100}%`,
      top: `${row * ROW}px`,
      "--warmth": String(grown.warmth(node)),
    });
  });
  const press = (node: FlameNode) => {
    zoom(node === root ? whole : node);
    if (node.children.size === 0) page.pinned.set(pin(page, node));
  };
  styled(graph, { height: `${rows * ROW}px` });
  graph.replaceChildren(...buttons);
  hint.replaceChildren(...hints(page, root, grown, matched, zoom));
}

/** A tint that is the same for all frames of one file. */
function warmth(frame: number, page: Page): number {
  if (frame < 0) return 0;
  const file = page.model.report.frames[frame][1];
  return (file * 37) % 5;
}

function pin(page: Page, node: FlameNode) {
  const facts: [string, string][] = [
    ["At the peak", bytes(node.bytes)],
    ["Blocks", count(node.blocks)],
    ["Kind", page.current.kindOfStack(node.stack) ?? "unattributed"],
  ];
  return { title: page.model.place(node.stack), facts, stack: node.stack };
}

function hints(page: Page, root: FlameNode, { whole, name }: Grown, matched: number, zoom: (to: FlameNode) => void): Node[] {
  const out: Node[] = [];
  if (root !== whole) {
    const share = root.bytes === whole.bytes ? "all of it" : `${bytes(root.bytes)} of ${bytes(whole.bytes)}`;
    out.push(document.createTextNode(`Begins at ${name(root)} (${share}). `));
    out.push(h("button", { type: "button", class: "link", onclick: () => zoom(whole) }, "Show from the outermost frame"));
  } else {
    out.push(document.createTextNode("Click a frame to zoom into it."));
  }
  if (!page.search.value.empty) out.push(document.createTextNode(` ${counted(matched, "frame")} matched.`));
  return out;
}

function placeTable(page: Page, places: PlaceTotal[], total: number): HTMLElement {
  const most = Math.max(1, places[0]?.bytes ?? 1);
  const body = h("tbody");
  const row = (place: PlaceTotal) => {
    const colour = page.colourOfPlace(place.place);
    const press = () =>
      page.pinned.set({
        title: place.place,
        facts: [["At the peak", `${bytes(place.bytes)} (${percent(place.bytes / total)})`], ["Blocks", count(place.blocks)], ["Kind", place.kind]],
        stack: place.stack,
      });
    return h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        swatch(colour === null ? page.palette.rest : page.palette.series(colour)),
        h("button", { type: "button", class: "link", onclick: press }, place.place),
      ),
      h("td", { "data-label": "Kind" }, place.kind),
      h("td", { "data-label": "Bytes", class: "amount" }, h("span", {}, bytes(place.bytes)), bar(place.bytes / most)),
      h("td", { "data-label": "Share", class: "number" }, percent(place.bytes / total)),
      h("td", { "data-label": "Blocks", class: "number" }, count(place.blocks)),
    );
  };
  body.append(...places.slice(0, FIRST_PLACES).map(row));
  const head = ["Call site", "Kind", "Bytes", "Share", "Blocks"].map((text) => h("th", { scope: "col" }, text));
  const table = h("table", { class: "cards places" }, h("thead", {}, h("tr", {}, ...head)), body);
  if (places.length <= FIRST_PLACES) return table;
  const more = h("button", { type: "button", class: "quiet" }, `All ${count(places.length)} call sites`);
  more.addEventListener("click", () => (body.append(...places.slice(FIRST_PLACES, 1000).map(row)), more.remove()));
  return h("div", {}, table, more);
}
