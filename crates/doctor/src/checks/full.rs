//! A full GPU: which call says so first, and whether all comes back. Takes all free memory for a moment.

use whyoom_allocators::PAGE;
use whyoom_gpu::driver::{Code, Driver, PhysicalHandle};
use whyoom_trace::Bytes;

use crate::outcome::Outcome;

/// Plain blocks take most of the memory, the largest first, so that few pages are left to make.
const BLOCKS: [u64; 3] = [1 << 30, 128 << 20, 16 << 20];

/// The call that tells on a plain system.
const CREATE: &str = "cuMemCreate";

/// Others gave memory back meanwhile, so that there was more than pages were made.
const NOBODY: &str = "no call";

/// The driver may keep a little that others use later.
const TOLERATED: u64 = 64 << 20;

/// More than are left when no block fits any more.
const PAGES: u64 = 64;

pub(super) fn run() -> Outcome {
    let Ok(driver) = Driver::load() else { return Outcome::not_run("there is no driver") };
    let started = driver.init().and_then(|()| driver.retain_primary(0));
    let Ok(context) = started else { return Outcome::not_run("no program can start on GPU 0") };
    if !matches!(driver.why_no_pages(0, PAGE), Ok(None)) {
        return Outcome::not_run("there are no pages to make");
    }
    match driver.with_context(context, || filled(&driver)) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(code)) | Err(code) => Outcome::failed(
            format!("a full GPU is answered with {code}"),
            "whyoom run --pool may not notice that memory is exhausted: send this report",
        ),
    }
}

fn filled(driver: &Driver) -> Result<Outcome, Code> {
    let (before, _) = driver.memory_info()?;
    let mut blocks = Vec::new();
    for size in BLOCKS {
        while let Some(block) = unless_full(driver.alloc(size))? {
            blocks.push(block);
        }
    }
    let address = driver.reserve(PAGES * PAGE)?;
    let (pages, refused) = fill_with_pages(driver, address)?;
    for (number, page) in pages.into_iter().enumerate() {
        driver.unmap(address + number as u64 * PAGE, PAGE)?;
        driver.release(page)?;
    }
    driver.unreserve(address, PAGES * PAGE)?;
    for block in blocks {
        driver.free(block)?;
    }
    let (after, _) = driver.memory_info()?;
    let told = format!("a full GPU is told by {refused} first; {} is free again", Bytes(after));
    let outcome = match refused {
        _ if before.saturating_sub(after) > TOLERATED => Outcome::differs(
            format!("{told}, of {} before", Bytes(before)),
            "the driver keeps memory that was given back, or another program took some meanwhile: make this check alone",
        ),
        CREATE | NOBODY => Outcome::ok(told),
        _ => Outcome::differs(
            told,
            "memory can be made here that cannot be mapped: --pool gives it back, tries once more, and then answers \
             with out of memory",
        ),
    };
    Ok(outcome.with("free_before_bytes", before as f64).with("free_after_bytes", after as f64))
}

/// Pages until there are no more, and the call that said so.
fn fill_with_pages(
    driver: &Driver,
    address: u64,
) -> Result<(Vec<PhysicalHandle>, &'static str), Code> {
    let mut pages = Vec::new();
    for number in 0..PAGES {
        let at = address + number * PAGE;
        let Some(page) = unless_full(driver.create(0, PAGE))? else {
            return Ok((pages, CREATE));
        };
        if unless_full(driver.map(at, PAGE, page))?.is_none() {
            driver.release(page)?;
            return Ok((pages, "cuMemMap"));
        }
        if unless_full(driver.set_access(at, PAGE, &[0]))?.is_none() {
            driver.unmap(at, PAGE)?;
            driver.release(page)?;
            return Ok((pages, "cuMemSetAccess"));
        }
        pages.push(page);
    }
    Ok((pages, NOBODY))
}

/// What was given; nothing where memory is exhausted.
fn unless_full<T>(answer: Result<T, Code>) -> Result<Option<T>, Code> {
    match answer {
        Err(Code::OUT_OF_MEMORY) => Ok(None),
        answer => answer.map(Some),
    }
}
