// The worker: reads files with the engine, and sends the page what it finds. It has no network: it inherits the page's policy.
import * as engine from "whyoom-engine";
import type { Inquiry, Progress, Read } from "./engine";
import { failure } from "./failure";
import type { Input, Preparation, Reply, Task } from "./messages";
import { sliced } from "./slices";

/** The least time between two signs of life, in milliseconds. */
const PAUSE = 100;

/** How often the example is read: browsers translate well what runs often. */
const WARM_UP = 40;

/** What only workers have; the types of pages and of workers cannot be had together. */
declare class FileReaderSync {
  readAsArrayBuffer(data: Blob): ArrayBuffer;
}

const scope = globalThis as unknown as { onmessage: (event: MessageEvent) => void; postMessage(reply: Reply, transfer?: Transferable[]): void };
const send = (reply: Reply, transfer: Transferable[] = []) => scope.postMessage(reply, transfer);

let memory: WebAssembly.Memory | undefined;
let hasTask = false;
let asFile: () => Uint8Array;

scope.onmessage = ({ data }: MessageEvent<Preparation | Task | "file">) => {
  try {
    if (data === "file") sendFile();
    else if (data.kind === "prepare") prepare(data);
    else start(data);
  } catch (error) {
    send({ kind: "failed", ...failure(error, memory?.buffer.byteLength ?? 0) });
  }
};

function prepare({ module, example }: Preparation): void {
  memory = engine.initSync({ module }).memory;
  if (example) warmUp(new Uint8Array(example), WARM_UP);
}

/** Reads the example again and again, and makes way for a task between two times. */
function warmUp(example: Uint8Array, times: number): void {
  if (times === 0 || hasTask) return;
  const inquiry = new engine.Inquiry(false);
  inquiry.add("example.pickle", example.length, sliced(example.length, (from, to) => example.subarray(from, to)), () => {});
  inquiry.judge();
  inquiry.verdict_text();
  inquiry.free();
  setTimeout(() => warmUp(example, times - 1));
}

function start(task: Task): void {
  hasTask = true;
  if (task.kind === "inquiry") inquire(task.inputs);
  else compare(task.a, task.b);
}

function inquire(inputs: Input[]): void {
  const verdict = judged(inputs, false);
  const json = verdict.verdict_json();
  send({ kind: "verdict", text: verdict.verdict_text(), json });
  verdict.free();
  // A report keeps more of what it reads: whoever waits for the cause does not wait for that.
  const report = judged(inputs, true);
  asFile = () => report.report_html();
  send({ kind: "document", json: report.report_document(), differs: report.verdict_json() !== json });
}

function judged(inputs: Input[], forReport: boolean): Inquiry {
  const signs = new Signs(inputs);
  const inquiry = new engine.Inquiry(forReport);
  for (const input of inputs) {
    inquiry.add(input.name, input.data.size, signs.reader(input), signs.progress);
    signs.next(input);
  }
  send({ kind: "thinking" });
  inquiry.judge();
  return inquiry;
}

function compare(a: Input, b: Input): void {
  const signs = new Signs([a, b]);
  const comparison = new engine.Comparison(a.name, a.data.size, signs.reader(a), b.name, b.data.size, signs.reader(b), signs.progress);
  send({ kind: "thinking" });
  asFile = () => comparison.html();
  send({ kind: "verdict", text: comparison.text(), json: comparison.json() });
  send({ kind: "document", json: comparison.document(), differs: false });
}

function sendFile(): void {
  // A copy: what the engine gives may be a view of its own memory, which cannot be handed over.
  const bytes = Uint8Array.from(asFile());
  send({ kind: "file", bytes }, [bytes.buffer]);
}

/** Signs of life: what was read, so often that the page can tell that something is being done. */
class Signs {
  readonly progress: Progress;
  #size: number;
  #before = 0;
  #done = 0;
  #last = 0;
  #reported = -1;
  #files = new FileReaderSync();

  constructor(inputs: Input[]) {
    this.#size = inputs.reduce((sum, { data }) => sum + data.size, 0);
    this.progress = (done) => {
      this.#done = this.#before + done;
      this.#live();
    };
  }

  reader({ data }: Input): Read {
    return sliced(data.size, (from, to) => {
      const bytes = new Uint8Array(this.#files.readAsArrayBuffer(data.slice(from, to)));
      this.#live();
      return bytes;
    });
  }

  /** One of several files is read. */
  next({ data }: Input): void {
    this.#before += data.size;
    this.#done = this.#before;
  }

  #live(): void {
    const now = performance.now();
    const done = Math.min(this.#done, this.#size);
    const finished = done === this.#size && this.#reported !== done;
    if (now - this.#last < PAUSE && !finished) return;
    this.#last = now;
    this.#reported = done;
    send({ kind: "read", done, size: this.#size });
  }
}
