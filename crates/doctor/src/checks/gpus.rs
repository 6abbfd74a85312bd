//! The GPUs, as NVML and as CUDA count them.

use whyoom_gpu::{Asked, Device, Gpus, driver::Driver};
use whyoom_trace::Bytes;

use crate::outcome::{Outcome, Status};

pub(super) fn run() -> Outcome {
    let Ok(gpus) = Gpus::open() else { return Outcome::not_run("there is no NVML") };
    let devices = match gpus.read(Asked::All) {
        Ok(devices) => devices,
        Err(error) => {
            return Outcome::failed(error.to_string(), "who, top and verdicts do not see the GPUs");
        }
    };
    let mut lines = devices.answering.iter().map(line);
    let mut outcome = Outcome::ok(lines.next().unwrap_or_else(|| "no GPU".to_owned()));
    for line in lines {
        outcome = outcome.and(line);
    }
    for silent in &devices.silent {
        outcome.status = Status::Differs;
        outcome = outcome.and(format!("GPU {} does not answer", silent.index));
        outcome.means.push(format!("{}. The commands show the other GPUs.", silent.why));
    }
    if devices.answering.iter().any(|device| device.unified_memory) {
        outcome.status = Status::Differs;
        outcome.means.push(
            "NVML does not report the memory of a GPU, as where it uses the host's: who shows the sizes of /proc/meminfo"
                .to_owned(),
        );
    }
    if devices.answering.iter().any(|device| device.mig == Some(true)) {
        outcome.status = Status::Differs;
        outcome.means.push(
            "a GPU is divided (MIG): who shows the parts that this user may ask; for fit, give a part's memory \
             (--memory 10GiB)"
                .to_owned(),
        );
    }
    if counted_otherwise(&devices.answering) {
        outcome.status = Status::Differs;
        outcome.means.push(
            "CUDA counts these GPUs in another order than NVML and nvidia-smi: export CUDA_DEVICE_ORDER=PCI_BUS_ID \
             makes them the same. Verdicts tell them apart by UUID"
                .to_owned(),
        );
    }
    outcome
}

fn line(device: &Device) -> String {
    let kind = match device {
        Device { unified_memory: true, .. } => ", the host's",
        Device { mig: Some(true), .. } => ", divided (MIG)",
        _ => "",
    };
    format!("GPU {}: {}, {}{kind}", device.index, device.name, Bytes(device.memory.total))
}

/// Whether CUDA's order, as far as it shows these GPUs, is another one than NVML's.
fn counted_otherwise(devices: &[Device]) -> bool {
    // Who names GPUs in another order has it so.
    if std::env::var_os("CUDA_VISIBLE_DEVICES").is_some() {
        return false;
    }
    let Ok(driver) = Driver::load() else { return false };
    let Ok(count) = driver.init().and_then(|()| driver.device_count()) else { return false };
    let place = |device| {
        let uuid = driver.uuid(device).ok()?;
        devices.iter().position(|known| known.uuid.ends_with(&uuid))
    };
    let places: Vec<usize> = (0..count).filter_map(place).collect();
    !places.is_sorted()
}
