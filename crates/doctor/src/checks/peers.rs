//! Which GPUs reach each other's memory, and what it costs to let them.

use std::time::Instant;

use whyoom_allocators::PAGE;
use whyoom_gpu::driver::{Code, Driver};

use crate::outcome::Outcome;

pub(super) fn run() -> Outcome {
    let Ok(driver) = Driver::load() else { return Outcome::not_run("there is no driver") };
    let Ok(count) = driver.init().and_then(|()| driver.device_count()) else {
        return Outcome::not_run("the driver does not start");
    };
    if count < 2 {
        return Outcome::not_run("there is one GPU");
    }
    let Ok(apart) = driver.pairs_apart() else {
        return Outcome::not_run("the driver does not tell");
    };
    let outcome = match apart[..] {
        [] => Outcome::ok(format!("all {count} GPUs reach each other's memory")),
        [(one, other), ..] => Outcome::differs(
            format!(
                "GPU {one} and GPU {other} do not reach each other's memory ({} of {} pairs do not)",
                apart.len(),
                count * (count - 1) / 2
            ),
            "whyoom run --pool makes copies between them by way of the driver; whyoom.pool.enable() without it leaves \
             PyTorch its allocator",
        ),
    }
    .with("pairs_apart", apart.len() as f64);
    match access_times(&driver, count) {
        Ok((own, all)) => outcome
            .and(format!(
                "access to a page: {own:.1} µs for its GPU, {all:.1} µs for all that reach it"
            ))
            .with("own_access_microseconds", own)
            .with("all_access_microseconds", all),
        Err(_) => outcome,
    }
}

/// What it takes to let GPU 0 alone use a page of its own, and all GPUs that reach it: the pool lets all.
fn access_times(driver: &Driver, count: u32) -> Result<(f64, f64), Code> {
    let reaches = |gpu: &u32| *gpu == 0 || driver.can_access_peer(*gpu, 0).unwrap_or(false);
    let all: Vec<u32> = (0..count).filter(reaches).collect();
    let context = driver.retain_primary(0)?;
    driver.with_context(context, || {
        let address = driver.reserve(2 * PAGE)?;
        let pages = [driver.create(0, PAGE)?, driver.create(0, PAGE)?];
        let mut times = [0.0; 2];
        for (place, (page, gpus)) in pages.iter().zip([&[0][..], &all]).enumerate() {
            let at = address + place as u64 * PAGE;
            driver.map(at, PAGE, *page)?;
            let begun = Instant::now();
            driver.set_access(at, PAGE, gpus)?;
            times[place] = begun.elapsed().as_secs_f64() * 1e6;
        }
        driver.unmap(address, 2 * PAGE)?;
        for page in pages {
            driver.release(page)?;
        }
        driver.unreserve(address, 2 * PAGE)?;
        Ok((times[0], times[1]))
    })?
}
