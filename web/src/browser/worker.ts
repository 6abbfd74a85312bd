// The worker: reads files with the engine, and sends the page what it finds. It has no network: it inherits the page's policy.
import * as engine from "whyoom-engine";
import type { Progress, Read } from "./engine";
import { failure } from "./failure";
import type { Input, Reply, Task } from "./messages";
import { sliced } from "./slices";

/** The least time between two signs of life, in milliseconds. */
const PAUSE = 100;

/** What only workers have; the types of pages and of workers cannot be had together. */
declare class FileReaderSync {
  readAsArrayBuffer(data: Blob): ArrayBuffer;
}

const scope = globalThis as unknown as { onmessage: (event: MessageEvent) => void; postMessage(reply: Reply, transfer?: Transferable[]): void };
const send = (reply: Reply, transfer: Transferable[] = []) => scope.postMessage(reply, transfer);

let memory: WebAssembly.Memory | undefined;
let asFile: () => Uint8Array;

scope.onmessage = ({ data }: MessageEvent<Task | "file">) => {
  try {
    if (data === "file") sendFile();
    else start(data);
  } catch (error) {
    send({ kind: "failed", ...failure(error, memory?.buffer.byteLength ?? 0) });
  }
};

function start(task: Task): void {
  memory = engine.initSync({ module: task.module }).memory;
  if (task.kind === "inquiry") inquire(task.inputs);
  else compare(task.a, task.b);
}

function inquire(inputs: Input[]): void {
  const signs = new Signs(inputs);
  const inquiry = new engine.Inquiry(true);
  for (const input of inputs) {
    inquiry.add(input.name, input.data.size, signs.reader(input), signs.progress);
    signs.next(input);
  }
  send({ kind: "thinking" });
  inquiry.judge();
  send({ kind: "verdict", text: inquiry.verdict_text(), json: inquiry.verdict_json() });
  asFile = () => inquiry.report_html();
  send({ kind: "document", json: inquiry.report_document() });
}

function compare(a: Input, b: Input): void {
  const signs = new Signs([a, b]);
  const comparison = new engine.Comparison(a.name, a.data.size, signs.reader(a), b.name, b.data.size, signs.reader(b), signs.progress);
  send({ kind: "thinking" });
  asFile = () => comparison.html();
  send({ kind: "verdict", text: comparison.text(), json: comparison.json() });
  send({ kind: "document", json: comparison.document() });
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
