//! A training step of a language model, made up: where no recording is at hand, sizes and lifetimes
//! that are like one's.

use whyoom_allocators::Request;
use whyoom_trace::{PoolId, StreamId};

use super::turn::{Happening, Turn};

const LAYERS: u64 = 24;
const HEADS: u64 = 16;
const WIDTH: u64 = 1024;
const WORDS: u64 = 10_000;
const BATCH: u64 = 4;
const LENGTH: u64 = 512;
/// Bytes of a number.
const FLOAT: u64 = 4;

/// One activation of the model's width, and the attention scores.
const ACTIVATION: u64 = BATCH * LENGTH * WIDTH * FLOAT;
const SCORES: u64 = BATCH * HEADS * LENGTH * LENGTH * FLOAT;
/// One number per word: norms and reductions.
const PER_WORD: u64 = BATCH * LENGTH * FLOAT;
const LOGITS: u64 = BATCH * LENGTH * WORDS * FLOAT;

/// A layer's weights: four of attention, three of the feed-forward part, two norms.
const WEIGHTS: [u64; 9] = [
    WIDTH * WIDTH * FLOAT,
    WIDTH * WIDTH * FLOAT,
    WIDTH * WIDTH * FLOAT,
    WIDTH * WIDTH * FLOAT,
    WIDTH * WIDTH * 8 / 3 * FLOAT,
    WIDTH * WIDTH * 8 / 3 * FLOAT,
    WIDTH * WIDTH * 8 / 3 * FLOAT,
    WIDTH * FLOAT,
    WIDTH * FLOAT,
];
/// What the forward pass of a layer keeps for the backward pass.
const KEPT: [u64; 14] = [
    ACTIVATION,
    PER_WORD,
    ACTIVATION,
    ACTIVATION,
    ACTIVATION,
    SCORES,
    SCORES,
    ACTIVATION,
    PER_WORD,
    ACTIVATION,
    ACTIVATION * 8 / 3,
    ACTIVATION * 8 / 3,
    ACTIVATION * 8 / 3,
    ACTIVATION,
];
/// What lies between those for a moment only.
const PASSING: [u64; 5] = [ACTIVATION, PER_WORD, ACTIVATION, SCORES, 1];

/// The step.
pub(super) fn turn() -> Turn {
    let mut script = Script::default();
    let weights: Vec<u64> =
        (0..LAYERS).flat_map(|_| WEIGHTS).chain([WIDTH * WORDS * FLOAT]).collect();
    // Weights and the optimizer's two moments of each stay.
    for size in weights.iter().flat_map(|size| [size; 3]) {
        script.alloc(*size);
    }
    let start = std::mem::take(&mut script.happenings);
    let mut kept: Vec<Vec<u32>> = (0..LAYERS).map(|_| script.forward()).collect();
    let logits = [LOGITS, LOGITS, PER_WORD, 1].map(|size| script.alloc(size));
    let mut gradients = Vec::new();
    while let Some(layer) = kept.pop() {
        gradients.extend(script.backward(&layer));
    }
    logits.into_iter().for_each(|item| script.free(item));
    weights.iter().for_each(|size| script.passing(&[*size, *size, 1]));
    gradients.into_iter().for_each(|item| script.free(item));
    Turn::closed("a training step, made up", script.items as usize, start, script.happenings)
}

#[derive(Default)]
struct Script {
    items: u32,
    happenings: Vec<Happening>,
}

impl Script {
    fn alloc(&mut self, size: u64) -> u32 {
        let (item, stream, pool) = (self.items, StreamId(0), PoolId(0));
        self.items += 1;
        self.happenings.push(Happening::Alloc { item, request: Request { size, stream, pool } });
        item
    }

    fn free(&mut self, item: u32) {
        self.happenings.push(Happening::Free { item });
    }

    /// Each lives until the next has been made.
    fn passing(&mut self, sizes: &[u64]) {
        let mut before = None;
        for size in sizes {
            let item = self.alloc(*size);
            if let Some(before) = before.replace(item) {
                self.free(before);
            }
        }
        before.into_iter().for_each(|item| self.free(item));
    }

    fn forward(&mut self) -> Vec<u32> {
        let mut kept = Vec::new();
        for size in KEPT {
            kept.push(self.alloc(size));
            self.passing(&PASSING);
        }
        kept
    }

    /// Frees what the layer kept, last first; the gradients of its weights.
    fn backward(&mut self, kept: &[u32]) -> Vec<u32> {
        for (item, size) in kept.iter().zip(KEPT).rev() {
            self.passing(&[size, PER_WORD, size, ACTIVATION]);
            self.free(*item);
        }
        WEIGHTS.iter().map(|size| self.alloc(*size)).collect()
    }
}
