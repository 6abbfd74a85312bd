// Ends what gives no sign of life.

/** What may pass without a sign while files are read, and while the engine is known to work, in seconds. */
export const SILENCE = { reading: 30, thinking: 120 };

export class Watch {
  #timer = 0;
  #ended: (seconds: number) => void;

  constructor(ended: (seconds: number) => void) {
    this.#ended = ended;
  }

  /** There was a sign: the next must come within so many seconds. */
  sign(seconds: number): void {
    this.stop();
    const due = Date.now() + seconds * 1000;
    this.#timer = setTimeout(() => {
      // A machine that slept, or a tab that was frozen, gets its time again.
      if (Date.now() > due + seconds * 500) this.sign(seconds);
      else this.#ended(seconds);
    }, seconds * 1000) as unknown as number;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
