//! What the driver takes in which units, on each GPU: what the lab's table has of such a GPU, measured.

use std::collections::BTreeMap;

use whyoom_gpu::driver::Driver;
use whyoom_lab_calibrate::{Calibration, Figure, calibrate};
use whyoom_trace::Bytes;

use crate::{measured::MeasuredGpu, outcome::Outcome};

/// What `--machine` puts in place of the table's.
const WANTED: [Figure; 8] = [
    Figure::Total,
    Figure::NvmlTotal,
    Figure::Context,
    Figure::Granularity,
    Figure::Slab,
    Figure::SmallLimit,
    Figure::SmallUnit,
    Figure::PoolChunk,
];

pub(super) fn run() -> Outcome {
    let Ok(driver) = Driver::load() else { return Outcome::not_run("there is no driver") };
    let Ok(count) = driver.init().and_then(|()| driver.device_count()) else {
        return Outcome::not_run("the driver does not start");
    };
    let measured: Vec<Calibration> = (0..count).filter_map(|gpu| calibrate(gpu).ok()).collect();
    let mut lines = measured.iter().map(line);
    let Some(first) = lines.next() else { return Outcome::not_run("no GPU can be measured") };
    let mut outcome = Outcome::ok(first);
    for line in lines {
        outcome = outcome.and(line);
    }
    outcome.gpus = measured.iter().map(gpu).collect();
    outcome
}

fn line(measured: &Calibration) -> String {
    let context = match measured.value(Figure::Context) {
        Some(bytes) => format!("a context takes {}", Bytes(bytes)),
        None => "NVML does not tell what a context takes".to_owned(),
    };
    let totals = measured.value(Figure::NvmlTotal).zip(measured.value(Figure::Total));
    let kept = totals.map(|(all, usable)| {
        format!("; the driver keeps {} of {}", Bytes(all.saturating_sub(usable)), Bytes(all))
    });
    format!("GPU {}: {context}{}", measured.device, kept.unwrap_or_default())
}

fn gpu(measured: &Calibration) -> MeasuredGpu {
    let figure = |figure: &Figure| Some((figure.name().to_owned(), measured.value(*figure)?));
    MeasuredGpu {
        name: measured.model_name().to_owned(),
        simulated: measured.is_simulated(),
        figures: WANTED.iter().filter_map(figure).collect::<BTreeMap<_, _>>(),
    }
}
