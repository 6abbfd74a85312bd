// A value that others can watch.

export class Signal<T> {
  #watchers = new Set<(value: T) => void>();
  #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const watcher of [...this.#watchers]) watcher(value);
  }

  /** Calls `watcher` at every change from now on, until the returned function is called. */
  watch(watcher: (value: T) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}
