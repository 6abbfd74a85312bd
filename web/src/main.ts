// Where the page begins: its data is read once, then shown.
import { decode } from "./decode";
import { showDiff } from "./diff/frame";
import { h } from "./dom";
import { showReport } from "./frame";
import { theme } from "./theme";

async function start(): Promise<void> {
  const app = document.getElementById("whyoom-app");
  const data = document.getElementById("whyoom-data");
  if (!app || !data) throw new Error("this page contains no report");
  const dark = theme();
  try {
    const found = await decode(data.textContent ?? "");
    data.remove();
    if (found.schema === "whyoom.report") showReport(app, found, dark);
    else showDiff(app, found, dark);
  } catch (error) {
    // What stood here before the script still does: the verdict as text.
    app.prepend(h("p", { class: "failed", role: "alert" }, `The report could not be drawn: ${(error as Error).message}. Use a current Firefox, Chrome or Safari.`));
    throw error;
  }
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

void start();
