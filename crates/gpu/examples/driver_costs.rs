//! What the pool's driver calls cost here, in the median of many.
//!
//! ```console
//! $ whyoom lab run -- target/release/examples/driver_costs
//! ```

use std::{error::Error, hint::black_box, time::Instant};

use whyoom_gpu::driver::{Code, Driver, Stream};

/// Calls of each kind that are timed, one by one.
const ROUNDS: u64 = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let driver = Driver::load()?;
    driver.init()?;
    let context = driver.retain_primary(0)?;
    driver.with_context(context, || -> Result<(), Box<dyn Error>> {
        show("with_context, already current", |_| driver.with_context(context, || ()))?;
        streams(&driver)?;
        memory(&driver)
    })??;
    show("with_context, pushed and popped", |_| driver.with_context(context, || ()))?;
    Ok(())
}

fn streams(driver: &Driver) -> Result<(), Box<dyn Error>> {
    let (stream, other): (Stream, Stream) = (driver.stream_create()?, driver.stream_create()?);
    let event = driver.event_create()?;
    show("cuEventRecord", |_| driver.event_record(event, stream))?;
    show("cuEventQuery", |_| driver.event_query(event))?;
    show("cuStreamWaitEvent", |_| driver.stream_wait(other, event))?;
    show("cuStreamIsCapturing", |_| driver.stream_is_capturing(stream))?;
    show("relaxed, two changes of mode", |_| driver.relaxed(|| ()))?;
    show("cuEventCreate + cuEventDestroy", |_| {
        driver.event_create().and_then(|event| driver.event_destroy(event))
    })?;
    Ok(())
}

fn memory(driver: &Driver) -> Result<(), Box<dyn Error>> {
    let page = driver.granularity(0)?;
    let reserved = driver.reserve(2 * ROUNDS * page)?;
    let at = |round: u64| reserved + round * page;
    let mut handles = Vec::new();
    show("cuMemCreate", |_| driver.create(0, page).map(|handle| handles.push(handle)))?;
    let map = |place: u64, round: u64| {
        driver.map(at(place), page, handles[round as usize])?;
        driver.set_access(at(place), page, &[0])
    };
    show("cuMemMap + cuMemSetAccess", |round| map(round, round))?;
    show("the same, a second address of each", |round| map(ROUNDS + round, round))?;
    show("cuMemUnmap, one of two", |round| driver.unmap(at(round), page))?;
    show("cuMemUnmap, the last", |round| driver.unmap(at(ROUNDS + round), page))?;
    show("cuMemRelease", |round| driver.release(handles[round as usize]))?;
    show("cuMemGetInfo", |_| driver.memory_info())?;
    driver.unreserve(reserved, 2 * ROUNDS * page)?;
    Ok(())
}

/// Times each call and prints the median and the slowest tenth's least.
fn show<T>(what: &str, mut call: impl FnMut(u64) -> Result<T, Code>) -> Result<(), Code> {
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let start = Instant::now();
        black_box(call(round)?);
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let (median, ninth) = (times[times.len() / 2], times[times.len() * 9 / 10]);
    println!("{what:<36} {:>8} ns  (90 %: {} ns)", median.as_nanos(), ninth.as_nanos());
    Ok(())
}
