//! Which GPUs reach each other's memory.

use whyoom_gpu::driver::Driver;

use crate::outcome::Outcome;

pub(super) fn run() -> Outcome {
    let Ok(driver) = Driver::load() else { return Outcome::not_run("there is no driver") };
    let Ok(count) = driver.init().and_then(|()| driver.device_count()) else {
        return Outcome::not_run("the driver does not start");
    };
    if count < 2 {
        return Outcome::not_run("there is one GPU");
    }
    let pairs = (0..count).flat_map(|one| (0..one).map(move |other| (other, one)));
    let reach = |one, other| driver.can_access_peer(one, other).unwrap_or(false);
    let apart: Vec<(u32, u32)> = pairs.filter(|(one, other)| !reach(*one, *other)).collect();
    match apart[..] {
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
    .with("pairs_apart", apart.len() as f64)
}
