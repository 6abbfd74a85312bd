//! Whether there is a driver that works: why CUDA is unavailable, where it is.

use whyoom_gpu::{
    Gpus,
    driver::{Code, Driver},
};

use crate::{
    outcome::Outcome,
    surroundings::{Surroundings, advice},
};

/// CUDA reads it when a program begins to use it.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

pub(super) fn run() -> Outcome {
    let nvml = Gpus::open();
    let driver = match Driver::load() {
        Ok(driver) => driver,
        Err(error) => {
            let advice = nvml.as_ref().err().and_then(advice);
            let advice =
                advice.unwrap_or("To try whyoom without a GPU: whyoom lab run -- python train.py");
            return Outcome::failed(error.to_string(), format!("CUDA is unavailable. {advice}"));
        }
    };
    if let Err(code) = driver.init() {
        return no_start(code, nvml.is_ok());
    }
    let count = driver.device_count().unwrap_or(0);
    let version = driver.version().unwrap_or(0);
    let found = format!("CUDA {}.{}, {count} visible", version / 1000, version % 1000 / 10);
    match nvml {
        Ok(gpus) => {
            let version = gpus.driver_version().unwrap_or_else(|| "unknown".to_owned());
            Outcome::ok(format!("driver {version}, {found}"))
        }
        Err(error) => Outcome::differs(
            format!("{found}, but NVML: {error}"),
            "who and top cannot look; a verdict does not name other processes",
        ),
    }
    .with("cuda_version", f64::from(version))
    .with("visible_gpus", f64::from(count))
}

/// The driver is there and does not start.
fn no_start(code: Code, nvml_answers: bool) -> Outcome {
    let here = Surroundings::look();
    let hidden = std::env::var_os(VISIBLE);
    let what_to_do = match code {
        // Where NVML answers, nothing else stands in the way.
        Code::NO_DEVICE if hidden.is_some() && nvml_answers => {
            format!("{VISIBLE} names no GPU of this machine: unset it, or name one")
        }
        Code::NO_DEVICE if here.devices_denied => {
            "this user may not open /dev/nvidiactl: look at its permissions and groups".to_owned()
        }
        Code::NO_DEVICE if here.container => {
            "start the container with the GPUs (docker run --gpus all)".to_owned()
        }
        Code::NO_DEVICE if !here.driver_loaded => {
            "the kernel module is not loaded: sudo modprobe nvidia; after an update of the kernel it may have to be \
             built again"
                .to_owned()
        }
        Code::STUB_LIBRARY => {
            "libcuda.so.1 is the stub for linking: take its folder off LD_LIBRARY_PATH".to_owned()
        }
        _ => "nvidia-smi and sudo dmesg | grep -i nvrm say more; a restart helps after an update of the driver".to_owned(),
    };
    Outcome::failed(
        format!("the driver does not start: {code}"),
        format!("CUDA is unavailable: {what_to_do}"),
    )
}
