//! What NVML says of this process, and how long it takes for it.

use std::time::Instant;

use whyoom_gpu::{Asked, Gpus, ProcessKind, driver::Driver};
use whyoom_trace::Bytes;

use crate::outcome::{Outcome, Status};

/// A look at a failure is waited for no longer than a second.
const SLOW_MILLISECONDS: f64 = 250.0;

pub(super) fn run() -> Outcome {
    let Ok(gpus) = Gpus::open() else { return Outcome::not_run("there is no NVML") };
    let Ok(driver) = Driver::load() else { return Outcome::not_run("there is no driver") };
    let context = driver.init().and_then(|()| driver.retain_primary(0));
    if let Err(code) = context {
        return Outcome::failed(format!("no context: {code}"), "no program can use GPU 0 now");
    }
    let milliseconds = |asked| {
        let begun = Instant::now();
        (gpus.read(asked), begun.elapsed().as_secs_f64() * 1000.0)
    };
    let (read, memory) = milliseconds(Asked::Memory);
    let (_, all) = milliseconds(Asked::All);
    let devices = match read {
        Ok(devices) => devices.answering,
        Err(error) => return Outcome::failed(error.to_string(), "who and top cannot look"),
    };
    let times = format!("asked in {memory:.1} ms for memory, {all:.1} ms for all");
    let own = std::process::id();
    let mut listed = devices.iter().flat_map(|device| device.processes.iter().flatten());
    let own = listed.find(|process| process.pid == own);
    let is_mps = own.is_some_and(|process| process.kind == ProcessKind::Mps);
    let outcome = match own.map(|process| process.bytes) {
        Some(Some(bytes)) => {
            Outcome::ok(format!("lists this process with {}; {times}", Bytes(bytes)))
                .with("context_bytes", bytes as f64)
        }
        Some(None) => Outcome::differs(
            format!("lists this process, but not what it holds; {times}"),
            "NVML does not tell what processes hold (as in some containers): who shows them without sizes, and a \
             verdict relies on what was recorded",
        ),
        None => Outcome::differs(
            format!("does not list this process; {times}"),
            "NVML lists processes by other numbers or not at all here (another PID namespace, or no permission): who \
             cannot name holders; look from the host",
        ),
    };
    let mut outcome = outcome.with("memory_milliseconds", memory).with("all_milliseconds", all);
    if is_mps {
        outcome.status = Status::Differs;
        outcome.means.push(
            "processes are clients of MPS: a fatal error on the GPU in one of them can end the others"
                .to_owned(),
        );
    }
    if memory > SLOW_MILLISECONDS {
        outcome.status = Status::Differs;
        outcome.means.push(
            "NVML is slow: a look at a failure may come after the program has ended, and then names no other process"
                .to_owned(),
        );
    }
    outcome
}
