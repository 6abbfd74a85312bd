//! `--watch`: the whole report once, then a line for each change.

use std::io::Write;

use anyhow::Result;
use whyoom_node::{NodeReport, WhoAlert, who_changes, write_who_json_line};

use super::{Alert, alert, output::write};
use crate::exit_status::ALERT;

/// Looks again and again, until a condition holds or a look fails. `pause` is called between looks.
pub(crate) fn watch(
    mut look: impl FnMut() -> Result<NodeReport>,
    mut pause: impl FnMut(),
    alerts: &[Alert],
    json: bool,
    out: &mut dyn Write,
) -> Result<u8> {
    let mut before: Option<NodeReport> = None;
    loop {
        let now = look()?;
        let judged = alert::judge(alerts, &now);
        let holds = judged.iter().any(|alert| alert.holds);
        let changes = before.as_ref().map(|before| who_changes(before, &now));
        match changes {
            _ if json => {
                if changes.is_none_or(|changes| !changes.is_empty() || holds) {
                    write_who_json_line(&now, &judged, out)?;
                }
            }
            None => {
                write(&now, &[], false, out)?;
                writeln!(out)?;
            }
            Some(changes) => {
                for change in changes {
                    writeln!(out, "{}  {change}", clock(now.time))?;
                }
            }
        }
        if holds {
            if !json {
                write_alerts(&now, &judged, out)?;
            }
            out.flush()?;
            return Ok(ALERT);
        }
        // Whoever reads along must not wait for a buffer to fill.
        out.flush()?;
        before = Some(now);
        pause();
    }
}

fn write_alerts(now: &NodeReport, judged: &[WhoAlert], out: &mut dyn Write) -> Result<()> {
    for alert in judged.iter().filter(|alert| alert.holds) {
        writeln!(out, "{}  {}", clock(now.time), alert::line(alert))?;
    }
    Ok(())
}

/// The time of day of nanoseconds since 1970. Not the local one, which no log of several machines
/// could be sorted by.
fn clock(nanoseconds: u64) -> String {
    let seconds = nanoseconds / 1_000_000_000 % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;
    use crate::who::built::{GIB, NOW, device, node, orphan};

    fn watched(reports: Vec<NodeReport>, alerts: &[&str], json: bool) -> (Option<u8>, String) {
        let mut reports = reports.into_iter();
        let look = || match reports.next() {
            Some(report) => Ok(report),
            None => bail!("the driver is gone"),
        };
        let alerts: Vec<Alert> = alerts.iter().map(|text| text.parse().expect("one")).collect();
        let mut out = Vec::new();
        let code = watch(look, || {}, &alerts, json, &mut out).ok();
        let text = String::from_utf8(out).expect("text");
        (code, anstream::adapter::strip_str(&text).to_string())
    }

    #[test]
    fn only_changes_are_told() {
        let empty = || node(vec![device(0, 0, vec![])]);
        let taken = node(vec![device(0, 0, vec![orphan(42, 1)])]);
        let (code, text) = watched(vec![empty(), empty(), taken, empty()], &[], false);
        assert_eq!(code, None);
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("UTC")).collect();
        assert_eq!(
            lines,
            [
                "08:00:00 UTC  GPU 0: 23.00 GiB of 24.00 GiB free; process 42 (alice: python \
                 train.py) appeared with 1.00 GiB",
                "08:00:00 UTC  GPU 0: 23.00 GiB of 24.00 GiB free; orphan: its parent has exited",
                "08:00:00 UTC  GPU 0: 24.00 GiB of 24.00 GiB free; process 42 (alice: python \
                 train.py) disappeared with 1.00 GiB",
            ]
        );
    }

    #[test]
    fn an_alert_ends_it() {
        let empty = || node(vec![device(0, 0, vec![])]);
        let full = || node(vec![device(0, 23 * GIB, vec![])]);
        let (code, text) = watched(vec![empty(), full(), empty()], &["free<2GiB"], false);
        assert_eq!(code, Some(ALERT));
        assert!(text.ends_with("08:00:00 UTC  alert free<2GiB: HOLDS on GPU 0\n"), "{text}");

        let (code, text) = watched(vec![empty(), empty(), full()], &["free<2GiB"], true);
        assert_eq!((code, text.lines().count()), (Some(ALERT), 2));
        assert!(text.contains(r#""alerts":[{"text":"free<2GiB","holds":true,"devices":[0]}]"#));
    }

    #[test]
    fn the_clock_is_a_clock() {
        assert_eq!(clock(NOW), "08:00:00 UTC");
        assert_eq!(clock(86_399 * 1_000_000_000), "23:59:59 UTC");
    }
}
