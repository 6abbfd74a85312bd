// Where the page begins: one screen at a time, and one worker for each run or comparison.
import type { Report } from "../data";
import { parse } from "../decode";
import { h } from "../dom";
import { brand } from "../frame_parts";
import { theme } from "../theme";
import { dropAnywhere } from "./choosing";
import { sentence } from "./failure";
import { Job, type Listener } from "./job";
import type { Input, Task } from "./messages";
import { ReadyWorker } from "./ready";
import { Result } from "./result";
import { Start } from "./start";
import { Working } from "./working";

interface Screen {
  element: HTMLElement;
  focus(): void;
}

const TITLE = document.title;

class App {
  #dark = theme();
  #spoken = h("div", { class: "offscreen", role: "status", "aria-live": "polite" });
  /** A report brings its own bar. */
  #bar = h("header", { class: "topbar" }, h("div", { class: "first" }, ...brand("in the browser", this.#dark)));
  #place = h("div");
  #start = new Start((inputs) => this.#read(inputs));
  /** The worker of what is shown, and of what is being made. */
  #jobs = new Set<Job>();
  #ready = new ReadyWorker();
  #result: Result | null = null;
  #announce = (text: string) => (this.#spoken.textContent = text);

  constructor(app: HTMLElement) {
    app.replaceChildren(this.#bar, this.#place, this.#spoken);
    this.#show(this.#start);
    dropAnywhere((inputs) => this.#read(inputs));
    // While the reader looks for a file.
    this.#ready.prepare();
  }

  #show(screen: Screen): void {
    this.#bar.hidden = screen instanceof Result;
    this.#place.replaceChildren(screen.element);
    scrollTo(0, 0);
  }

  /** Back to the first screen. */
  #startOver(text: string, trouble: boolean): void {
    for (const job of this.#jobs) job.end();
    this.#jobs.clear();
    this.#result?.remove();
    this.#result = null;
    document.title = TITLE;
    forgetSection();
    this.#start.tell(text, trouble);
    this.#show(this.#start);
    this.#start.focus();
    this.#announce(text);
    this.#ready.prepare();
  }

  #read(inputs: Input[]): void {
    if (inputs.length === 0) return;
    this.#startOver("", false);
    const folder = inputs.find(({ isFolder }) => isFolder);
    if (folder) return this.#startOver(packIt(folder.name), true);
    const [first] = inputs;
    const name = namesOf(inputs);
    // What is compared is one file with another.
    const compare = inputs.length === 1 && first.data instanceof File ? ([other]: Input[]) => this.#compare(first, other) : null;
    this.#work({ kind: "inquiry", inputs }, name, "report", compare, (text, trouble) => this.#startOver(text, trouble));
  }

  /** The verdict on the first run is kept until the comparison is there, or has failed. */
  #compare(a: Input, b: Input): void {
    const [jobs, result] = [[...this.#jobs], this.#result];
    const back = (text: string) => {
      if (!result) return this.#startOver(text, true);
      this.#ready.prepare();
      this.#show(result);
      result.tell(text);
      result.focus();
    };
    if (b.isFolder) return back(packIt(b.name));
    this.#work({ kind: "comparison", a, b }, `${a.name} and ${b.name}`, "comparison", null, back, () => {
      jobs.forEach((job) => job.end());
      result?.remove();
    });
  }

  #work(task: Task, name: string, what: string, compare: ((inputs: Input[]) => void) | null, back: (text: string, trouble: boolean) => void, arrived = () => {}): void {
    const command = task.kind === "inquiry" ? "whyoom why FILE" : "whyoom diff A B";
    let result: Result | null = null;
    /** There is no more to come: without a verdict back to where we came from, with one it stays. */
    const stopped = (text: string, trouble: boolean) => {
      if (result) result.end(text);
      else back(text, trouble);
    };
    const cancel = () => {
      job.end();
      back(`Cancelled: ${name} was not read completely.`, false);
    };
    const working = new Working(task.kind === "inquiry" ? `Reading ${name}` : `Comparing ${name}`, cancel, this.#announce);
    const listener: Listener = {
      read: (done, size) => (result ?? working).read(done, size),
      thinking: () => (result ? result.thinking() : working.thinking(task.kind === "inquiry" ? "Looking for the cause, replaying fixes" : "Comparing")),
      verdict: (verdict) => {
        arrived();
        const file = () => job.file();
        result = new Result(name, what, verdict, { file, compare, startOver: () => this.#startOver("", false), announce: this.#announce });
        this.#result = result;
        this.#show(result);
        result.focus();
        this.#announce(firstLine(verdict.text));
      },
      document: (json, differs) => {
        try {
          result?.show(parse(json) as Report, this.#dark, differs);
          // While a comparison is made in its place, nobody sees it, and the processor is wanted.
          if (!result?.element.isConnected) return;
          this.#ready.prepare();
          this.#announce(`The ${what} is below`);
        } catch (error) {
          stopped(`The ${what} could not be drawn: ${(error as Error).message}`, true);
        }
      },
      failed: (failure) => stopped(sentence(failure, name, command), true),
      silent: (seconds) => stopped(`${name}: ended after ${seconds} s without progress. Use the command line instead: ${command}`, true),
    };
    const job = new Job(task, this.#ready, listener);
    this.#jobs.add(job);
    this.#show(working);
    working.focus();
  }
}

const namesOf = (inputs: Input[]) => (inputs.length <= 3 ? inputs.map(({ name }) => name).join(", ") : `${inputs[0].name} and ${inputs.length - 1} more files`);

const packIt = (folder: string) => `${folder} is a folder, but a browser reads only files. Pack it first: tar czf ${folder}.tar.gz ${folder}`;

const firstLine = (text: string) => text.trimStart().split("\n", 1)[0];

/** A link to a section of the last report leads nowhere in the next. */
function forgetSection(): void {
  if (!location.hash) return;
  try {
    history.replaceState(null, "", location.pathname + location.search);
  } catch {
    // a page opened from disk may not say what its address is
  }
}

const app = document.getElementById("whyoom-app");
if (!app) throw new Error("this page contains no place for the report");
new App(app);
document.documentElement.dataset.ready = String(Math.round(performance.now()));
