//! Whether plain allocations get what idle stream-ordered pools keep. Takes all free memory for a moment.

use whyoom_lab_calibrate::reclaims_idle_pools;

use crate::outcome::Outcome;

pub(super) fn run() -> Outcome {
    match reclaims_idle_pools(0) {
        Ok(false) => Outcome::ok("cudaMalloc does not get what idle stream-ordered pools keep")
            .with("reclaims_idle_pools", 0.0),
        Ok(true) => Outcome::differs(
            "cudaMalloc gets what idle stream-ordered pools keep",
            "the lab assumes that it does not: a program may run out of memory there and not here",
        )
        .with("reclaims_idle_pools", 1.0),
        Err(error) => Outcome::not_run(error.to_string()),
    }
}
