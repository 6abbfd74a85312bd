// The parts of a finding: the program's lines, what to do, and the evidence.
import { bar, pasteLine } from "./controls";
import type { CallSite, Evidence, Remedy } from "./documents";
import { h } from "./dom";
import { bytes, count, percent, sentence } from "./format";

/** The program's own lines, each with what it has to do with the cause. */
export function callSites(list: CallSite[]): HTMLElement | null {
  if (list.length === 0) return null;
  const items = list.map(({ call_site, what }) => h("li", {}, h("code", {}, call_site), h("span", {}, what)));
  return h("ul", { class: "call-sites", "aria-label": "Call sites" }, ...items);
}

/** The first thing to do in sight, the others folded. */
export function fixes([first, ...others]: Remedy[]): HTMLElement | null {
  if (!first) return null;
  return h(
    "div",
    { class: "fixes" },
    h("div", { class: "fix" }, h("h2", { class: "sub" }, "Fix"), remedyCard(first)),
    others.length > 0 ? h("details", { class: "others" }, h("summary", {}, `Other ways (${count(others.length)})`), remedies(others)) : null,
  );
}

export function remedies(list: Remedy[]): HTMLElement {
  return h("div", { class: "remedies" }, ...list.map(remedyCard));
}

function remedyCard(remedy: Remedy): HTMLElement {
  const frees = remedy.frees_bytes ? ` Frees up to ${bytes(remedy.frees_bytes)}.` : "";
  const example = remedy.example ? " For example:" : "";
  return h(
    "article",
    { class: remedy.proved ? "remedy proved" : "remedy" },
    remedy.paste ? pasteLine(remedy.paste, "the line") : null,
    h("p", {}, sentence(remedy.what) + frees + example),
    remedy.example ? h("pre", { class: "example" }, remedy.example) : null,
    proof(remedy),
  );
}

function proof(remedy: Remedy): HTMLElement | null {
  if (!remedy.proof) return null;
  const { peak_reserved_bytes: peak, capacity_bytes: capacity } = remedy.proof;
  return h(
    "p",
    { class: remedy.proved ? "proof" : "proof partial" },
    remedy.proved ? bar(peak / capacity, "good") : null,
    h("span", {}, `${proofLevel(remedy.proof)}: at most ${bytes(peak)} of ${bytes(capacity)}`),
  );
}

/** How far a replay that fitted carries. */
function proofLevel(found: NonNullable<Remedy["proof"]>): string {
  if (found.level === "ran") return "Proven: it was applied, and the program succeeded";
  if (found.iterations !== null) return `Proven by replaying ${count(found.iterations)} entire iterations of this run`;
  return "Not proven for entire iterations; this request fits in a replay";
}

/** Rows of evidence beyond these are shown on request. */
const FIRST_ROWS = 6;
const SOURCES: Partial<Record<Evidence["basis"], string>> = { message: "from the error message", recorded: "recorded", computed: "computed from the run" };

export function evidenceTable(list: Evidence[]): HTMLElement | null {
  if (list.length === 0) return null;
  const [{ basis }] = list;
  const alike = list.every((each) => each.basis === basis);
  const rows = list.map((each) => evidenceRow(each, alike));
  const caption = alike ? `Evidence (${SOURCES[basis] ?? basis})` : "Evidence";
  const table = h("table", { class: "evidence" }, h("caption", {}, caption), h("tbody", {}, ...rows));
  // A single row takes no more room than the button that would show it.
  const folded = rows.length > FIRST_ROWS + 1 ? rows.slice(FIRST_ROWS) : [];
  if (folded.length === 0) return table;
  for (const row of folded) row.hidden = true;
  const more = h("button", { type: "button", class: "quiet" }, `${count(folded.length)} more`);
  more.addEventListener("click", () => (folded.forEach((row) => (row.hidden = false)), more.remove()));
  return h("div", {}, table, more);
}

function evidenceRow(evidence: Evidence, sourceIsSaid: boolean): HTMLElement {
  return h(
    "tr",
    { class: evidence.text === undefined ? null : "text" },
    h("th", { scope: "row" }, evidence.label),
    h("td", { class: "value" }, evidenceValue(evidence)),
    sourceIsSaid ? null : h("td", { class: "basis" }, evidence.basis),
  );
}

function evidenceValue(evidence: Evidence): string {
  if (evidence.bytes !== undefined) return bytes(evidence.bytes);
  if (evidence.count !== undefined) return count(evidence.count);
  if (evidence.share !== undefined) return percent(evidence.share);
  return evidence.text ?? "";
}
