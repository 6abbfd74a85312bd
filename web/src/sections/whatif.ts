// What other allocators would have done with the same requests.
import { bar, copyButton } from "../controls";
import { type ReplayRow, type ReplayRun, type Why, deviceName } from "../documents";
import { h } from "../dom";
import { bytes, count, duration, percent, sentence } from "../format";
import type { Page, Section } from "../page";

export const whatIf: Section = {
  id: "what-if",
  title: "What if",
  ofSpace: false,
  state(page) {
    if (runs(page).length > 0) return "show";
    const { replay_note } = page.model.report;
    return replay_note ? { instead: sentence(replay_note) } : "hide";
  },
  mount(body, page) {
    body.append(h("p", { class: "summary" }, "The same requests through other allocators, computed on this run."));
    const why = page.model.report.why as Why | null;
    for (const run of runs(page)) body.append(runTable(run, runs(page).length > 1, reach(why, run)));
    return () => {};
  },
};

function runs(page: Page): ReplayRun[] {
  return (page.model.report.replay?.runs ?? []) as ReplayRun[];
}

/** Causes that another allocator removes: what it wastes. And a run that nothing is wrong with, which is replayed to its end. */
const SERVED = new Set(["fragmented-cache", "cache-held", "private-pool", "rounding", "pending-free", "mempool-held", "late-setting", "healthy"]);
const LEAKS = new Set(["growth", "leak-at-exit"]);

/** How far a fit carries. */
interface Reach {
  /** Whether the run would have gone on, as far as anybody knows. */
  goesOn: boolean;
  caveat: string | null;
}

/** A replay holds the requests up to the failure: what comes after them depends on the cause. */
function reach(why: Why | null, run: ReplayRun): Reach {
  if (!why) return { goesOn: true, caveat: null };
  const own = (each: { process: string | null; device: number | string | null }) => each.process === run.process && deviceName(each.device) === run.device;
  const cause = why.by_process.find(own)?.cause ?? why.verdict.cause;
  if (LEAKS.has(cause)) {
    return { goesOn: false, caveat: "Memory grows, so no allocator fits this program for long. “Fits up to here” means that the recorded requests fit; the leak goes on." };
  }
  if (!SERVED.has(cause)) {
    return { goesOn: false, caveat: `The cause (${cause}) is not memory that the allocator wastes. “Fits up to here” means that the recorded requests fit; more requests may follow.` };
  }
  const grows = why.contributing.some((also) => LEAKS.has(also.cause) && own(also));
  return { goesOn: true, caveat: grows ? "Memory also grows: a longer run needs more than shown here." : null };
}

function runTable(run: ReplayRun, named: boolean, { goesOn, caveat }: Reach): HTMLElement {
  const most = Math.max(run.capacity_bytes ?? 0, ...run.rows.map((row) => row.peak_reserved_bytes), 1);
  // Without a capacity nobody knows what fits.
  const judged = run.rows.some((row) => row.fits !== null);
  const head = ["Allocator", ...(judged ? ["Fits"] : []), "Peak reserved", "Utilization", "Driver calls", "How to enable"];
  return h(
    "div",
    {},
    named ? h("h3", {}, `${run.device} · ${run.process}`) : null,
    caveat && judged ? h("p", { class: "caveat" }, caveat) : null,
    h(
      "table",
      { class: "cards whatif" },
      h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...run.rows.map((row) => tableRow(row, run, most, judged, goesOn))),
    ),
    h("p", { class: "footnote" }, footnote(run)),
  );
}

function tableRow(row: ReplayRow, run: ReplayRun, most: number, judged: boolean, goesOn: boolean): HTMLElement {
  const fits = row.fits === null ? "unknown" : !row.fits ? "does not fit" : goesOn ? "fits" : "fits up to here";
  const tone = row.fits === false ? "bad" : row.fits && goesOn ? "good" : "plain";
  const limit = run.capacity_bytes === null ? undefined : run.capacity_bytes / most;
  return h(
    "tr",
    { class: row.allocator === "as-recorded" ? "recorded" : null },
    h("th", { scope: "row" }, row.about, h("span", { class: "id" }, row.allocator)),
    judged ? h("td", { "data-label": "Fits", class: `fits ${tone}` }, fits) : null,
    h("td", { "data-label": "Peak reserved", class: "amount" }, h("span", {}, bytes(row.peak_reserved_bytes)), bar(row.peak_reserved_bytes / most, tone, limit)),
    h("td", { "data-label": "Utilization", class: "number" }, percent(row.utilization)),
    h("td", { "data-label": "Driver calls", class: "number" }, `${count(row.driver_calls)} (${duration(row.driver_nanoseconds)})`),
    h("td", { class: "switch" }, row.switch ? h("span", { class: "switchline" }, h("code", { title: row.switch }, shortened(row.switch)), copyButton(row.switch, `the line for ${row.allocator}`)) : null),
  );
}

/** The telling end of a setting; the button copies the whole line. */
function shortened(line: string): string {
  return line.replace(/^export PYTORCH_CUDA_ALLOC_CONF=/, "…");
}

function footnote(run: ReplayRun): string {
  const parts = [`${count(run.allocations)} allocations; at most ${bytes(run.peak_live_bytes)} allocated at once.`];
  if (run.capacity_bytes !== null) parts.push(`Capacity ${bytes(run.capacity_bytes)}, ${run.capacity_from ?? ""}.`.replace(", .", "."));
  if (run.model) parts.push(`The model of PyTorch's allocator matched the recording in ${count(run.model.equal)} of ${count(run.model.steps)} steps.`);
  parts.push("Times of driver calls are modelled.");
  return parts.join(" ");
}
