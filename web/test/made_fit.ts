// A made report of `whyoom fit`: three GPUs, a curve, assertions.
import type { Report } from "../src/data";
import type { Fit } from "../src/documents";

const GIB = 2 ** 30;

function gpu(name: string, gib: number, peak: number) {
  const total = gib * GIB;
  const fits = peak * GIB < total;
  return {
    name,
    total_bytes: total,
    fits,
    ran_on: name,
    failure: null,
    processes: [
      {
        rank: "all",
        device: 0,
        peak_allocated_bytes: peak * 0.8 * GIB,
        peak_reserved_bytes: peak * 0.95 * GIB,
        outside_bytes: peak * 0.05 * GIB,
        peak_bytes: peak * GIB,
        headroom_bytes: total - peak * GIB,
        fits,
        releases_cache: false,
        fits_with: fits
          ? null
          : { setting: "expandable segments", paste: "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", peak_reserved_bytes: total * 0.9 },
        obstacle: fits ? null : "fragmented",
      },
    ],
  };
}

function fit(vary: boolean): Fit {
  const values = [1, 2, 4, 8, 16, 24, 32, 48, 64];
  return {
    command: "python train.py --batch 32",
    gpus: vary ? [] : [gpu("Tesla T4", 14.56, 17.2), gpu("NVIDIA L4", 21.96, 17.4), gpu("NVIDIA A100-SXM4-80GB", 79.25, 17.9)],
    peaks: [{ ran_on: "NVIDIA L4", rank: 0, place: "forward", kinds: [{ name: "activations", bytes: 9 * GIB }, { name: "parameters", bytes: 4 * GIB }], places: [{ name: "me/mlp.py:20 forward", bytes: 6 * GIB }] }],
    vary: vary
      ? {
          name: "batch",
          largest: [
            { gpu: "Tesla T4", room_bytes: 14 * GIB, value: 16, peak_reserved_bytes: 12 * GIB, confirmed: false, is_last: false },
            { gpu: "NVIDIA L4", room_bytes: 21 * GIB, value: 32, peak_reserved_bytes: 20 * GIB, confirmed: true, is_last: false },
          ],
          curve: values.map((value) => ({ value, peak_reserved_bytes: (4 + value * 0.5) * GIB })),
          runs: [1, 16, 64],
        }
      : null,
    generation: null,
    assertions: [{ text: "peak<20GiB", holds: true, found: "17.40 GiB" }],
    notes: [{ kind: "measured", text: "steps 1 to 12, which repeat" }, { kind: "care", text: "the program queried free memory" }],
  };
}

export function madeFit(vary = false): Report {
  return {
    schema: "whyoom.report",
    version: 1,
    whyoom: "0.0.0-made",
    title: "fit: python train.py --batch 32",
    simulated: "The GPU was simulated: kernels computed nothing.",
    why: null,
    text: "",
    fit: fit(vary),
    replay: null,
    replay_note: null,
    strings: [""],
    frames: [],
    stacks: [[]],
    places: [0],
    processes: [],
    spaces: [],
  };
}
