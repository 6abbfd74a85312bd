//! Virtual memory management: whether the pool can work, and what its calls cost.

use std::time::Instant;

use whyoom_allocators::PAGE;
use whyoom_gpu::driver::{Code, Context, Driver};

use crate::outcome::Outcome;

/// So many pages are made.
const PAGES: u64 = 64;

pub(super) fn run() -> Outcome {
    let Ok(driver) = Driver::load() else { return Outcome::not_run("there is no driver") };
    let started = driver.init().and_then(|()| driver.retain_primary(0));
    let Ok(context) = started else { return Outcome::not_run("no program can start on GPU 0") };
    match examined(&driver, context) {
        Ok(outcome) => outcome,
        Err(Code::OUT_OF_MEMORY) => Outcome::differs(
            "a page could be made, but not mapped: out of memory",
            "GPU 0 is nearly full: --pool answers such a refusal with out of memory",
        ),
        Err(code) => Outcome::failed(
            format!("a call of virtual memory management failed: {code}"),
            "--pool may fail: run without it",
        ),
    }
}

fn examined(driver: &Driver, context: Context) -> Result<Outcome, Code> {
    if let Some(why) = driver.why_no_pages(0, PAGE)? {
        return Ok(Outcome::differs(
            why,
            "--pool leaves the allocations to the driver, with one line",
        ));
    }
    driver.with_context(context, || timed(driver))?
}

/// Makes pages, maps them, lets them be used, and takes them away.
fn timed(driver: &Driver) -> Result<Outcome, Code> {
    let address = driver.reserve(PAGES * PAGE)?;
    let mut times: [Vec<f64>; 4] = Default::default();
    let mut pages = Vec::new();
    for page in 0..PAGES {
        let at = address + page * PAGE;
        let handle = match timing(&mut times[0], || driver.create(0, PAGE)) {
            Err(Code::OUT_OF_MEMORY) => {
                return Ok(Outcome::not_run("too little memory is free on GPU 0"));
            }
            created => created?,
        };
        pages.push(handle);
        timing(&mut times[1], || driver.map(at, PAGE, handle))?;
        timing(&mut times[2], || driver.set_access(at, PAGE, &[0]))?;
    }
    for (page, handle) in pages.into_iter().enumerate() {
        timing(&mut times[3], || driver.unmap(address + page as u64 * PAGE, PAGE))?;
        driver.release(handle)?;
    }
    driver.unreserve(address, PAGES * PAGE)?;
    let names = ["create", "map", "access", "unmap"];
    let medians: Vec<String> = names
        .iter()
        .zip(&mut times)
        .map(|(name, times)| format!("{name} {:.1} µs", at_share(times, 0.5)))
        .collect();
    let mut outcome = Outcome::ok(format!("pages of 2 MiB: {}", medians.join(", ")))
        .with("granularity_bytes", driver.granularity(0)? as f64);
    for (name, times) in names.iter().zip(&mut times) {
        outcome = outcome
            .with(&format!("{name}_median_microseconds"), at_share(times, 0.5))
            .with(&format!("{name}_p99_microseconds"), at_share(times, 0.99));
    }
    Ok(outcome)
}

fn timing<T>(times: &mut Vec<f64>, call: impl FnOnce() -> Result<T, Code>) -> Result<T, Code> {
    let begun = Instant::now();
    let answer = call()?;
    times.push(begun.elapsed().as_secs_f64() * 1e6);
    Ok(answer)
}

/// The value below which this share lies.
fn at_share(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    let place = (times.len() as f64 * share) as usize;
    times.get(place.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}
