// A worker that is ready before a file comes: it has the engine, and has made it fast with the example.
import type { Failure, Reply } from "./messages";
import { engineModule, exampleSnapshot, workerAddress } from "./parts";

export interface Prepared {
  worker: Worker;
  /** Why it cannot be used, where it has said so. */
  failure: Failure | null;
}

export class ReadyWorker {
  #prepared: Promise<Prepared> | null = null;
  /** What one worker has made fast is fast in all: they share the module. */
  #isFast = false;

  /** Makes one, if there is none, while nobody waits for it. */
  prepare(): void {
    this.#prepared ??= this.#start();
    // A job that takes it tells what is wrong.
    this.#prepared.catch(() => {});
  }

  /** The worker is its taker's from now on, who ends it. */
  take(): Promise<Prepared> {
    const prepared = this.#prepared ?? this.#start();
    this.#prepared = null;
    return prepared;
  }

  async #start(): Promise<Prepared> {
    const example = this.#isFast ? null : await exampleSnapshot();
    this.#isFast = true;
    const module = await engineModule();
    const prepared: Prepared = { worker: new Worker(workerAddress()), failure: null };
    const { worker } = prepared;
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      if (data.kind === "failed") prepared.failure = data;
    };
    worker.onerror = (event) => (prepared.failure = { why: "broke", message: event.message || "the worker could not be started" });
    worker.postMessage({ kind: "prepare", module, example });
    return prepared;
  }
}
