// The verdict: what happened, why, what to do, and how that is known.
import { bar, pasteLine } from "../controls";
import type { Evidence, Finding, Fit, Remedy, Why } from "../documents";
import { h } from "../dom";
import { bytes, count, percent, sentence } from "../format";
import type { Page, Section } from "../page";

export const verdict: Section = {
  id: "verdict",
  title: "Verdict",
  ofSpace: false,
  state: () => "show",
  mount(body, page) {
    const { why, fit, text } = page.model.report;
    if (why) mountWhy(body, why as Why, page);
    else if (fit) mountFit(body, fit as Fit, page);
    else body.append(h("pre", { class: "plain" }, text));
    return () => {};
  },
};

const GOOD = new Set(["healthy"]);
const OPEN = new Set(["unknown"]);

function mountWhy(body: HTMLElement, why: Why, page: Page): void {
  const { simulated } = page.model.report;
  const { verdict: finding } = why;
  const tone = GOOD.has(finding.cause) ? "good" : OPEN.has(finding.cause) ? "open" : "bad";
  body.append(
    h("p", { class: `cause ${tone}` }, finding.cause),
    h("h1", {}, finding.headline),
    h("p", { class: "because" }, finding.because),
  );
  if (simulated) body.append(h("p", { class: "simulated" }, simulated));
  body.append(remedies(finding.remedies), evidenceTable(finding.evidence));
  if (why.contributing.length > 0) {
    body.append(h("h2", { class: "sub" }, "Also true"), ...why.contributing.map((also) => contributing(also)));
  }
  if (why.by_process.length > 1) body.append(h("h2", { class: "sub" }, "By process"), byProcess(why));
  const notes = why.inputs.flatMap((input) => input.notes.map((note) => `${input.name}: ${note}`));
  if (notes.length > 0) body.append(h("h2", { class: "sub" }, "About the inputs"), h("ul", { class: "notes" }, ...notes.map((note) => h("li", {}, note))));
}

function remedies(list: Remedy[]): HTMLElement {
  return h("div", { class: "remedies" }, ...list.map(remedyCard));
}

function remedyCard(remedy: Remedy): HTMLElement {
  const frees = remedy.frees_bytes ? ` Gives back up to ${bytes(remedy.frees_bytes)}.` : "";
  return h(
    "article",
    { class: remedy.proved ? "remedy proved" : "remedy" },
    remedy.paste ? pasteLine(remedy.paste, "the line") : null,
    h("p", {}, sentence(remedy.what) + frees),
    proof(remedy),
  );
}

function proof(remedy: Remedy): HTMLElement | null {
  if (!remedy.proof) return null;
  const { peak_reserved_bytes: peak, capacity_bytes: capacity } = remedy.proof;
  return h(
    "p",
    { class: "proof" },
    remedy.proved ? bar(peak / capacity, "good") : null,
    h("span", {}, `${proofLevel(remedy.proof)}: at most ${bytes(peak)} of ${bytes(capacity)}`),
  );
}

/** How far a replay that fitted carries. */
function proofLevel(found: NonNullable<Remedy["proof"]>): string {
  if (found.level === "ran") return "Proved: it was applied, and the program succeeded";
  if (found.iterations !== null) return `Proved by replaying ${count(found.iterations)} whole iterations of this run`;
  return "Not proved to hold for whole iterations; in a replay this request passes";
}

function evidenceValue(evidence: Evidence): string {
  if (evidence.bytes !== undefined) return bytes(evidence.bytes);
  if (evidence.count !== undefined) return count(evidence.count);
  if (evidence.share !== undefined) return percent(evidence.share);
  return evidence.text ?? "";
}

function evidenceTable(list: Evidence[]): HTMLElement {
  if (list.length === 0) return h("div");
  const rows = list.map((evidence) =>
    h(
      "tr",
      { class: evidence.text === undefined ? null : "text" },
      h("th", { scope: "row" }, evidence.label),
      h("td", { class: "value" }, evidenceValue(evidence)),
      h("td", { class: "basis" }, evidence.basis),
    ),
  );
  return h("table", { class: "evidence" }, h("caption", {}, "Evidence"), h("tbody", {}, ...rows));
}

function contributing(finding: Finding): HTMLElement {
  return h(
    "details",
    { class: "finding" },
    h("summary", {}, h("span", { class: "tag" }, finding.cause), " ", finding.headline),
    h("p", {}, finding.because),
    remedies(finding.remedies),
    evidenceTable(finding.evidence),
  );
}

/** Of several processes, what each has. */
function byProcess(why: Why): HTMLElement {
  const rows = why.by_process.map(({ process, device, cause }) =>
    h("tr", {}, h("th", { scope: "row" }, process), h("td", {}, deviceName(device)), h("td", {}, h("span", { class: "tag" }, cause))),
  );
  return h("table", { class: "cards" }, h("tbody", {}, ...rows));
}

function deviceName(device: number | string | null): string {
  return typeof device === "number" ? `GPU ${device}` : (device ?? "");
}

function mountFit(body: HTMLElement, fit: Fit, page: Page): void {
  const fitting = fit.gpus.filter((gpu) => gpu.fits).length;
  const wanted = fit.vary ? fit.vary.largest.map(({ value }) => value !== null) : fit.gpus.map((gpu) => gpu.fits);
  const tone = wanted.some(Boolean) ? "good" : "bad";
  body.append(
    h("p", { class: `cause ${tone}` }, "fit"),
    h("h1", {}, fitHeadline(fit, fitting)),
    h("p", { class: "because" }, h("code", {}, fit.command)),
  );
  const { simulated } = page.model.report;
  if (simulated) body.append(h("p", { class: "simulated" }, simulated));
}

function fitHeadline(fit: Fit, fitting: number): string {
  if (fit.vary) {
    const { name, largest } = fit.vary;
    return largest.map(({ gpu, value }) => (value === null ? `No ${name} fits on ${gpu}` : `${name} ${count(value)} is the largest on ${gpu}`)).join("; ");
  }
  if (fit.gpus.length === 1) return `${fitting ? "Fits" : "Does not fit"} on ${fit.gpus[0].name}`;
  if (fitting === 0) return "Fits on none of the GPUs";
  return fitting === fit.gpus.length ? "Fits on every GPU asked for" : `Fits on ${fitting} of ${fit.gpus.length} GPUs`;
}
