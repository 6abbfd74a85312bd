// The first screen: what this is, a place for files, and one for text.
import { h } from "../dom";
import { type Chosen, fileButton } from "./choosing";
import { EXAMPLE } from "./example";
import type { Input } from "./messages";
import { exampleSnapshot } from "./parts";

const KINDS: [string, string][] = [
  ["PyTorch snapshot", ".pickle, from torch.cuda.memory._dump_snapshot()"],
  ["Log", "the output of the program, with the error message"],
  ["RMM log", ".csv, from rmm.enable_logging()"],
  ["Recording of whyoom run", "packed: tar czf run.tar.gz run"],
];

export class Start {
  readonly element: HTMLElement;
  #notice = h("div", { class: "notice", tabindex: -1, hidden: true });
  #heading = h("h1", { tabindex: -1 }, "Why did CUDA run out of memory?");

  constructor(chosen: Chosen) {
    this.element = h(
      "main",
      { class: "start" },
      this.#notice,
      this.#heading,
      h("p", { class: "because" }, "Give this page a memory snapshot, a log or a recording: it names the cause, the line of your code, and a fix."),
      h("p", { class: "privacy" }, "Nothing leaves this page. It makes no connection; save it and open it offline."),
      fileButton("Drop a file here, or choose one", { class: "drop", several: true }, chosen, kinds()),
      trying(chosen),
      pasting(chosen),
      help(),
    );
  }

  /** Why the last file was not read to its end; `trouble` is false where the reader wanted it so. */
  tell(text: string, trouble: boolean): void {
    this.#notice.replaceChildren(h("p", {}, text));
    this.#notice.className = trouble ? "notice trouble" : "notice";
    this.#notice.hidden = text === "";
  }

  focus(): void {
    (this.#notice.hidden ? this.#heading : this.#notice).focus();
  }
}

function kinds(): HTMLElement {
  return h("span", { class: "kinds" }, ...KINDS.flatMap(([name, what]) => [h("span", { class: "kind" }, name), h("span", {}, what)]));
}

/** A file for those who have none at hand. */
function trying(chosen: Chosen): HTMLElement {
  const read = async () => chosen([{ name: "example.pickle", data: new File([await exampleSnapshot()], "example.pickle") }]);
  return h("p", { class: "trying" }, "No file at hand? ", h("button", { type: "button", class: "quiet", onclick: () => void read() }, "Read an example snapshot"));
}

function pasting(chosen: Chosen): HTMLElement {
  const area = h("textarea", { id: "pasted", rows: 7, spellcheck: "false", autocomplete: "off", autocapitalize: "off", required: true });
  const submit = (event: Event) => {
    event.preventDefault();
    const pasted: Input = { name: "pasted text", data: new Blob([area.value], { type: "text/plain" }) };
    if (area.value.trim()) chosen([pasted]);
  };
  const fill = () => {
    area.value = EXAMPLE;
    area.focus();
  };
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  });
  return h(
    "form",
    { class: "pasting", onsubmit: submit },
    h("label", { for: "pasted" }, "Paste the traceback or the log"),
    area,
    h("div", { class: "actions" }, h("button", { class: "primary" }, "Find the cause"), h("button", { type: "button", class: "quiet", onclick: fill }, "Fill in an example")),
  );
}

function help(): HTMLElement {
  const code = [
    "torch.cuda.memory._record_memory_history()",
    "try:",
    "    train()",
    "except torch.OutOfMemoryError:",
    '    torch.cuda.memory._dump_snapshot("snapshot.pickle")',
    "    raise",
  ];
  return h(
    "details",
    { class: "help" },
    h("summary", {}, "How to get a snapshot or a recording"),
    h("p", {}, "A log is often enough to name the cause. A snapshot adds your lines of code, charts, and fixes tested by replay:"),
    h("pre", { tabindex: 0, "aria-label": "Python code that writes a snapshot" }, code.join("\n")),
    h("p", {}, "Without a change to the program: ", h("code", {}, "whyoom run -- python train.py"), ". Several files of one run, such as the logs of its ranks, can be dropped together. On a command line, ", h("code", {}, "whyoom why FILE"), " does the same, without the memory limit of a browser."),
  );
}
