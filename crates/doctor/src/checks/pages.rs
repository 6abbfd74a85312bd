//! Virtual memory management: whether the pool can work, and what its calls cost.

use std::time::Instant;

use whyoom_allocators::PAGE;
use whyoom_gpu::driver::{Code, Context, Driver};

use crate::outcome::{Outcome, Status};

/// So many pages are made.
const PAGES: u64 = 64;

/// A kernel that ends sooner tells nothing: the lab's do.
const SHORT_MICROSECONDS: f64 = 5_000.0;

/// About 50 ms at the clocks of today's GPUs.
const SPIN_CYCLES: u64 = 80_000_000;

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
    driver.with_context(context, || {
        let outcome = busy(driver, timed(driver)?)?;
        if outcome.status == Status::NotRun || driver.one_page_at_two_addresses(0, PAGE)? {
            return Ok(outcome);
        }
        Ok(Outcome::failed(
            "a page that is mapped at two addresses does not read the same at both",
            "--pool would lose data: run without it, and send this report",
        ))
    })?
}

/// How long mapping takes while a kernel runs, where one can be compiled: the pool maps under work.
fn busy(driver: &Driver, outcome: Outcome) -> Result<Outcome, Code> {
    let stream = driver.stream_create()?;
    if outcome.status != Status::Ok || driver.spin(SPIN_CYCLES, stream).is_err() {
        driver.stream_destroy(stream)?;
        return Ok(outcome);
    }
    let begun = Instant::now();
    let address = driver.reserve(PAGE)?;
    let handle = driver.create(0, PAGE)?;
    driver.map(address, PAGE, handle)?;
    driver.set_access(address, PAGE, &[0])?;
    driver.unmap(address, PAGE)?;
    let took = begun.elapsed().as_secs_f64() * 1e6;
    driver.stream_synchronize(stream)?;
    let lasted = begun.elapsed().as_secs_f64() * 1e6;
    driver.release(handle)?;
    driver.unreserve(address, PAGE)?;
    driver.stream_destroy(stream)?;
    let outcome = outcome
        .and(format!(
            "under a kernel of {lasted:.0} µs: create, map, access and unmap {took:.0} µs"
        ))
        .with("mapping_under_kernel_microseconds", took)
        .with("kernel_microseconds", lasted);
    if lasted < SHORT_MICROSECONDS || took < lasted / 2.0 {
        return Ok(outcome);
    }
    let means =
        "mapping waits for kernels here: with --pool, a program stalls while its memory grows";
    Ok(Outcome { status: Status::Differs, means: vec![means.to_owned()], ..outcome })
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
    let total = driver.total_memory(0)?;
    let fill = total as f64 / PAGE as f64
        * times.iter_mut().take(3).map(|times| at_share(times, 0.5)).sum::<f64>()
        / 1e6;
    let mut outcome = Outcome::ok(format!("pages of 2 MiB: {}", medians.join(", ")))
        .and(format!("--pool takes {fill:.1} s to make all memory of GPU 0 into pages, once"))
        .with("fill_seconds", fill)
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
