// A worker that is ready before a file comes: it has the engine, and has made it fast with the example.
import { engineModule, exampleSnapshot, workerAddress } from "./parts";

export class ReadyWorker {
  #worker: Promise<Worker> | null = null;

  /** Makes one, if there is none, while nobody waits for it. */
  prepare(): void {
    this.#worker ??= started();
    // A job that takes it tells what is wrong.
    this.#worker.catch(() => {});
  }

  /** The worker is its taker's from now on, who ends it. */
  take(): Promise<Worker> {
    const worker = this.#worker ?? started();
    this.#worker = null;
    return worker;
  }
}

async function started(): Promise<Worker> {
  const [module, example] = await Promise.all([engineModule(), exampleSnapshot()]);
  const worker = new Worker(workerAddress());
  worker.postMessage({ kind: "prepare", module, example });
  return worker;
}
