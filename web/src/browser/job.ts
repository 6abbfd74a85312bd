// A worker and what it does for the page: it is given a task, watched, asked, and ended.
import type { Failure, Reply, Task, Verdict } from "./messages";
import type { ReadyWorker } from "./ready";
import { SILENCE, Watch } from "./watch";

export interface Listener {
  read(done: number, size: number): void;
  thinking(): void;
  verdict(verdict: Verdict): void;
  document(json: string, differs: boolean): void;
  failed(failure: Failure): void;
  /** It was ended after so many seconds without a sign. */
  silent(seconds: number): void;
}

export class Job {
  #worker: Worker | null = null;
  #watch: Watch;
  #listener: Listener;
  #file: ((bytes: Uint8Array<ArrayBuffer> | null) => void) | null = null;
  #ended = false;

  constructor(task: Task, ready: ReadyWorker, listener: Listener) {
    this.#listener = listener;
    this.#watch = new Watch((seconds) => {
      this.end();
      listener.silent(seconds);
    });
    this.#start(task, ready).catch((error: unknown) => this.#fail({ why: "broke", message: String(error) }));
  }

  async #start(task: Task, ready: ReadyWorker): Promise<void> {
    this.#watch.sign(SILENCE.reading);
    const { worker, failure } = await ready.take();
    if (this.#ended) return worker.terminate();
    if (failure) {
      worker.terminate();
      return this.#fail(failure);
    }
    this.#worker = worker;
    this.#worker.onmessage = ({ data }: MessageEvent<Reply>) => this.#received(data);
    // What no handler of the worker's caught: its script could not be run at all, or the browser ended it.
    this.#worker.onerror = (event) => this.#fail({ why: "broke", message: event.message || "the worker could not be started" });
    this.#worker.postMessage(task);
  }

  #received(reply: Reply): void {
    if (this.#ended) return;
    if (reply.kind === "read") {
      this.#watch.sign(reply.done < reply.size ? SILENCE.reading : SILENCE.thinking);
      this.#listener.read(reply.done, reply.size);
    } else if (reply.kind === "thinking") {
      this.#watch.sign(SILENCE.thinking);
      this.#listener.thinking();
    } else if (reply.kind === "verdict") {
      this.#watch.sign(SILENCE.thinking);
      this.#listener.verdict(reply);
    } else if (reply.kind === "document") {
      this.#watch.stop();
      this.#listener.document(reply.json, reply.differs);
    } else if (reply.kind === "file") {
      this.#watch.stop();
      this.#given(reply.bytes);
    } else this.#fail(reply);
  }

  #fail(failure: Failure): void {
    if (this.#ended) return;
    this.end();
    this.#listener.failed(failure);
  }

  #given(bytes: Uint8Array<ArrayBuffer> | null): void {
    this.#file?.(bytes);
    this.#file = null;
  }

  /** The report or the comparison as one file; null where the worker has ended. */
  file(): Promise<Uint8Array<ArrayBuffer> | null> {
    if (this.#ended || !this.#worker) return Promise.resolve(null);
    this.#watch.sign(SILENCE.thinking);
    this.#worker.postMessage("file");
    return new Promise((given) => (this.#file = given));
  }

  /** The worker is ended, whatever it does, and its memory is given back. */
  end(): void {
    this.#ended = true;
    this.#watch.stop();
    this.#worker?.terminate();
    this.#given(null);
  }
}
