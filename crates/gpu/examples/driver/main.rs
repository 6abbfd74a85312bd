//! Puts the driver's functions through their paces on device 0, as the pool uses them. Ends with 1 at
//! the first step that fails.
//!
//! The work that must be seen unfinished is a kernel's, and a real one is over too soon for that. On
//! simulated GPUs it can be made to last:
//!
//! ```console
//! $ whyoom lab run --kernel nothing=busy:100ms -- target/debug/examples/driver busy
//! ```
#![expect(unsafe_code, reason = "device memory is written and read here")]

mod work;

use std::{error::Error, process::ExitCode};

use whyoom_gpu::driver::{Code, Driver, PhysicalHandle, Stream};

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let busy = std::env::args().any(|argument| argument == "busy");
    match run(busy) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("driver: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(busy: bool) -> Outcome {
    let driver = Driver::load()?;
    driver.init()?;
    let (count, total) = (driver.device_count()?, driver.total_memory(0)?);
    println!("driver: {count} devices, the first with {} MiB", total >> 20);
    contexts(&driver)?;
    let context = driver.retain_primary(0)?;
    driver.with_context(context, || {
        two_addresses_of_one_memory(&driver)?;
        no_more_than_there_is(&driver)?;
        events_and_waits(&driver)?;
        captures(&driver)?;
        if busy { unfinished_work(&driver) } else { Ok(()) }
    })??;
    holds("the context is off again", driver.current_context().is_none())?;
    println!("driver: all steps went well");
    Ok(())
}

/// Fails where something does not hold.
fn holds(what: &str, is: bool) -> Outcome {
    if is { Ok(()) } else { Err(format!("not so: {what}").into()) }
}

/// Fails where the driver does not refuse with this code.
fn refused<T>(what: &str, answer: &Result<T, Code>, with: Code) -> Outcome {
    match answer {
        Err(code) if *code == with => Ok(()),
        Err(code) => Err(format!("{what}: refused with {code}, not with {with}").into()),
        Ok(_) => Err(format!("{what}: not refused, where {with} was expected").into()),
    }
}

fn contexts(driver: &Driver) -> Outcome {
    holds("no context is current at first", driver.current_context().is_none())?;
    refused("the current device without one", &driver.current_device(), Code::INVALID_CONTEXT)?;
    let context = driver.retain_primary(0)?;
    let (current, device, inner) = driver.with_context(context, || {
        let inner = driver.with_context(context, || driver.current_context());
        (driver.current_context(), driver.current_device(), inner)
    })?;
    holds("current while it is pushed", current == Some(context) && inner? == current)?;
    holds("of the first device", device? == 0)?;
    println!("driver: a context is pushed once, and off again afterwards");
    Ok(())
}

fn read(driver: &Driver, address: u64, size: u64) -> Result<Vec<u8>, Code> {
    let mut bytes = vec![0; size as usize];
    // SAFETY: the callers pass addresses that they have mapped, or look for the refusal.
    unsafe { driver.read(address, &mut bytes, Stream::DEFAULT) }.map(|()| bytes)
}

fn fill(driver: &Driver, address: u64, byte: u8, size: u64) -> Result<(), Code> {
    // SAFETY: as above; nothing else is kept there.
    unsafe { driver.fill(address, byte, size, Stream::DEFAULT) }
}

fn map(driver: &Driver, at: u64, page: u64, handle: PhysicalHandle) -> Result<(), Code> {
    driver.map(at, page, handle)?;
    driver.set_access(at, page, &[0])
}

fn two_addresses_of_one_memory(driver: &Driver) -> Outcome {
    let page = driver.granularity(0)?;
    let reserved = driver.reserve(3 * page)?;
    let (first, second, third) = (reserved, reserved + page, reserved + 2 * page);
    let (before, _) = driver.memory_info()?;
    let handle = driver.create(0, page)?;
    let (created, _) = driver.memory_info()?;
    holds("a page is taken", before - created >= page)?;
    map(driver, first, page, handle)?;
    map(driver, second, page, handle)?;
    holds("mapped twice, counted once", driver.memory_info()?.0 == created)?;
    refused("mapped where it is mapped", &driver.map(first, page, handle), Code::INVALID_VALUE)?;
    fill(driver, first, 0xA5, page)?;
    holds("the other address shows it", read(driver, second, page)?.iter().all(|b| *b == 0xA5))?;

    driver.release(handle)?;
    holds("released while mapped: still taken", driver.memory_info()?.0 == created)?;
    refused("a released handle", &driver.map(third, page, handle), Code::INVALID_VALUE)?;
    driver.unmap(first, page)?;
    holds("one mapping is left: still taken", driver.memory_info()?.0 == created)?;
    holds("and readable", read(driver, second, page)?.iter().all(|b| *b == 0xA5))?;
    holds("the first address is not", read(driver, first, 1).is_err())?;
    refused("the reservation", &driver.unreserve(reserved, 3 * page), Code::INVALID_VALUE)?;
    driver.unmap(second, page)?;
    holds("unmapped: given back", driver.memory_info()?.0 == before)?;
    driver.unreserve(reserved, 3 * page)?;
    println!("driver: one page at two addresses, counted once, kept until its last mapping went");
    Ok(())
}

fn no_more_than_there_is(driver: &Driver) -> Outcome {
    let (_, total) = driver.memory_info()?;
    let page = driver.granularity(0)?;
    let more = (total / page + 1) * page;
    refused("more than the device has", &driver.create(0, more), Code::OUT_OF_MEMORY)?;
    refused("an odd size", &driver.create(0, page + 1), Code::INVALID_VALUE)?;
    let none = driver.device_count()?;
    refused("a device that is none", &driver.create(none, page), Code::INVALID_DEVICE)?;
    println!("driver: refusals are told by their codes");
    Ok(())
}

fn events_and_waits(driver: &Driver) -> Outcome {
    let (one, other) = (driver.stream_create()?, driver.stream_create()?);
    let event = driver.event_create()?;
    holds("an event that was never recorded has passed", driver.event_query(event)?)?;
    driver.event_record(event, one)?;
    driver.stream_wait(other, event)?;
    driver.event_synchronize(event)?;
    holds("passed after waiting for it", driver.event_query(event)?)?;
    driver.stream_synchronize(other)?;
    driver.event_destroy(event)?;
    driver.stream_destroy(one)?;
    driver.stream_destroy(other)?;
    println!("driver: an event recorded, queried and waited for across two streams");
    Ok(())
}

fn captures(driver: &Driver) -> Outcome {
    let (stream, beside) = (driver.stream_create()?, driver.stream_create()?);
    let event = driver.event_create()?;
    driver.event_record(event, beside)?;
    holds("not capturing", !driver.stream_is_capturing(stream)?)?;

    work::begin_capture(stream)?;
    holds("capturing", driver.stream_is_capturing(stream)?)?;
    holds("not the other stream", !driver.stream_is_capturing(beside)?)?;
    driver.relaxed(|| -> Outcome {
        driver.event_query(event)?;
        let handle = driver.create(0, driver.granularity(0)?)?;
        Ok(driver.release(handle)?)
    })??;
    work::end_capture(stream)?;

    work::begin_capture(stream)?;
    refused(
        "a query in the usual mode",
        &driver.event_query(event),
        Code::STREAM_CAPTURE_UNSUPPORTED,
    )?;
    holds("a spoilt capture counts", driver.stream_is_capturing(stream)?)?;
    holds("and has no graph", work::end_capture(stream).is_err())?;
    holds("until its end", !driver.stream_is_capturing(stream)?)?;
    driver.event_destroy(event)?;
    driver.stream_destroy(stream)?;
    driver.stream_destroy(beside)?;
    println!("driver: memory taken and an event queried beside a capture, which went on");
    Ok(())
}

fn unfinished_work(driver: &Driver) -> Outcome {
    let (one, other) = (driver.stream_create()?, driver.stream_create()?);
    let (event, behind) = (driver.event_create()?, driver.event_create()?);
    let kernel = work::Kernel::load()?;
    kernel.launch(one)?;
    driver.event_record(event, one)?;
    holds("the work is under way", !driver.event_query(event)?)?;
    driver.event_record(behind, other)?;
    holds("the other stream has none", driver.event_query(behind)?)?;
    driver.stream_wait(other, event)?;
    driver.event_record(behind, other)?;
    holds("and waits now", !driver.event_query(behind)?)?;
    driver.event_synchronize(behind)?;
    holds("until the work has passed", driver.event_query(event)?)?;
    println!("driver: unfinished work was seen, and another stream waited for it");
    Ok(())
}
