//! `--alert`: a condition that a script waits for.

use whyoom_node::{DeviceReport, NodeReport, WhoAlert};

use crate::comparison::{self, Comparison};

/// A condition on a device: `free<2GiB`.
pub(crate) type Alert = Comparison<Figure>;

/// What can be compared of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Figure {
    Free,
    Used,
    Residual,
}

impl comparison::Figure for Figure {
    const NAMES: &'static [(&'static str, Self)] =
        &[("free", Self::Free), ("used", Self::Used), ("residual", Self::Residual)];
    const EXAMPLE: &'static str = "free<2GiB";
}

impl Figure {
    fn of(self, device: &DeviceReport) -> i64 {
        let bytes = match self {
            Self::Free => device.device.memory.free,
            Self::Used => device.device.memory.used,
            Self::Residual => device.residual,
        };
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }
}

/// Where each condition holds.
pub(crate) fn judge(alerts: &[Alert], report: &NodeReport) -> Vec<WhoAlert> {
    let judged = alerts.iter().map(|alert| {
        let devices = report.devices.iter().filter(|one| alert.holds(alert.figure.of(one)));
        let devices: Vec<u32> = devices.map(|one| one.device.index).collect();
        WhoAlert { text: alert.text.clone(), holds: !devices.is_empty(), devices }
    });
    judged.collect()
}

/// What is said of a condition.
pub(crate) fn line(alert: &WhoAlert) -> String {
    let devices: Vec<String> = alert.devices.iter().map(|index| format!("GPU {index}")).collect();
    if alert.holds {
        format!("alert {}: HOLDS on {}", alert.text, devices.join(", "))
    } else {
        format!("alert {}: does not hold", alert.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::who::built::{GIB, device, node};

    #[test]
    fn it_holds_where_it_holds() {
        let report = node(vec![device(0, 10 * GIB, vec![]), device(1, 23 * GIB, vec![])]);
        let judge_one = |text: &str| {
            let alert = text.parse::<Alert>().expect("a condition");
            judge(&[alert], &report).remove(0)
        };
        assert_eq!(judge_one("free<2GiB").devices, [1]);
        assert_eq!(judge_one("used>=10GiB").devices, [0, 1]);
        assert_eq!(line(&judge_one("free<1GiB")), "alert free<1GiB: does not hold");
        assert_eq!(line(&judge_one("residual>11GiB")), "alert residual>11GiB: HOLDS on GPU 1");
        let error = "foo<5".parse::<Alert>().expect_err("no such figure").to_string();
        assert!(error.contains("free, used or residual"), "{error}");
        let error = "free<5".parse::<Alert>().expect_err("no unit").to_string();
        assert!(!error.contains("residual"), "{error}");
    }
}
