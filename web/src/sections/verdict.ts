// The verdict, as a good compiler tells an error: the cause, the program's own lines, one fix, notes, evidence.
import { type Finding, type Fit, type Why, deviceName } from "../documents";
import { append, h } from "../dom";
import { callSites, evidenceTable, fixes, remedies } from "../finding";
import { count } from "../format";
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
  append(body, [
    badge(finding),
    h("h1", {}, finding.headline),
    callSites(finding.call_sites ?? []),
    simulated && h("p", { class: "simulated" }, simulated),
    fixes(finding.remedies),
    note(finding.because),
    evidenceTable(finding.evidence),
  ]);
  if (why.contributing.length > 0) {
    body.append(h("h2", { class: "sub" }, "Also true"), ...why.contributing.map((also) => contributing(also)));
  }
  if (why.by_process.length > 1) body.append(h("h2", { class: "sub" }, "By process"), byProcess(why));
  const notes = why.inputs.flatMap((input) => input.notes.map((note) => `${input.name}: ${note}`));
  if (notes.length > 0) body.append(h("h2", { class: "sub" }, "About the inputs"), h("ul", { class: "notes" }, ...notes.map((note) => h("li", {}, note))));
}

/** The cause, and where it is explained. */
function badge({ cause, documentation }: Finding): HTMLElement {
  const tone = GOOD.has(cause) ? "good" : OPEN.has(cause) ? "open" : "bad";
  const address = documentation && isAddress(documentation) ? documentation : null;
  return h(
    "div",
    { class: "badge" },
    h("p", { class: `cause ${tone}` }, cause),
    address && h("a", { class: "documentation", href: address, target: "_blank", rel: "noopener noreferrer" }, "About this cause ↗"),
  );
}

/** Whether a link may lead there. */
function isAddress(text: string): boolean {
  try {
    return new URL(text).protocol === "https:";
  } catch {
    return false;
  }
}

function note(text: string): HTMLElement | null {
  return text ? h("p", { class: "note" }, h("b", {}, "Note"), " ", text) : null;
}

function contributing(finding: Finding): HTMLElement {
  return h(
    "details",
    { class: "finding" },
    h("summary", {}, h("b", {}, "Note"), " ", h("span", { class: "tag" }, finding.cause), " ", finding.headline),
    h("p", {}, finding.because),
    callSites(finding.call_sites ?? []),
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
  return fitting === fit.gpus.length ? "Fits on every requested GPU" : `Fits on ${fitting} of ${fit.gpus.length} GPUs`;
}
