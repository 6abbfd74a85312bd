//! Plain allocations: what they take.

use whyoom_gpu::driver::{Code, Driver};
use whyoom_trace::Bytes;

use crate::outcome::Outcome;

/// So much is taken, in so many blocks.
const BLOCK: u64 = 16 << 20;
const BLOCKS: u64 = 4;

/// What the program says first where all went well.
pub(super) const TOOK: &str = "took";

pub(super) fn run() -> Outcome {
    let Ok(driver) = Driver::load() else { return Outcome::not_run("there is no driver") };
    match taken(&driver) {
        Ok((before, during, after)) => {
            let took = before.saturating_sub(during);
            let outcome = Outcome::ok(format!(
                "{} of blocks take {}; {} is free",
                Bytes(BLOCK * BLOCKS),
                Bytes(took),
                Bytes(after)
            ));
            // Others may take and free meanwhile.
            outcome.with("taken_bytes", took as f64).with("free_bytes", after as f64)
        }
        Err(code) => Outcome::failed(
            format!("{} cannot be allocated: {code}", Bytes(BLOCK)),
            "GPU 0 is full or does not work: whyoom who shows who holds its memory",
        ),
    }
}

/// What was free before blocks were taken, with them, and when they had gone.
fn taken(driver: &Driver) -> Result<(u64, u64, u64), Code> {
    driver.init()?;
    let context = driver.retain_primary(0)?;
    driver.with_context(context, || {
        let free = || driver.memory_info().map(|(free, _)| free);
        let before = free()?;
        let blocks: Vec<u64> =
            (0..BLOCKS).map(|_| driver.alloc(BLOCK)).collect::<Result<_, _>>()?;
        let during = free()?;
        for block in blocks {
            driver.free(block)?;
        }
        Ok((before, during, free()?))
    })?
}

/// The program of the checks that record: takes memory and says how it went, in words that are the same every time.
#[must_use]
pub fn take_memory() -> String {
    match Driver::load().map_err(|error| error.to_string()) {
        Ok(driver) => match taken(&driver) {
            Ok(_) => format!("{TOOK} {BLOCKS} blocks of {}", Bytes(BLOCK)),
            Err(code) => code.to_string(),
        },
        Err(error) => error,
    }
}
