// What other allocators would have done with the same requests.
import { bar, copyButton } from "../controls";
import type { ReplayRow, ReplayRun } from "../documents";
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
    for (const run of runs(page)) body.append(runTable(run, runs(page).length > 1));
    return () => {};
  },
};

function runs(page: Page): ReplayRun[] {
  return (page.model.report.replay?.runs ?? []) as ReplayRun[];
}

function runTable(run: ReplayRun, named: boolean): HTMLElement {
  const most = Math.max(run.capacity_bytes ?? 0, ...run.rows.map((row) => row.peak_reserved_bytes), 1);
  // Without a capacity nobody knows what fits.
  const judged = run.rows.some((row) => row.fits !== null);
  const head = ["Allocator", ...(judged ? ["Fits"] : []), "Peak reserved", "Utilization", "Driver calls", "How to enable"];
  return h(
    "div",
    {},
    named ? h("h3", {}, `${run.device} · ${run.process}`) : null,
    run.caveat ? h("p", { class: "caveat" }, run.caveat) : null,
    h(
      "table",
      { class: "cards whatif" },
      h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...run.rows.map((row) => tableRow(row, run, most, judged))),
    ),
    h("p", { class: "footnote" }, footnote(run)),
  );
}

function tableRow(row: ReplayRow, run: ReplayRun, most: number, judged: boolean): HTMLElement {
  const fits = row.fits === null ? "unknown" : !row.fits ? "does not fit" : run.fits_up_to_here ? "fits up to here" : "fits";
  const tone = row.fits === false ? "bad" : row.fits && !run.fits_up_to_here ? "good" : "plain";
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
