//! The charts of the page.
//!
//! What is drawn is placed in percent and texts in pixels: on a phone a chart becomes narrower and its texts do not
//! become smaller.

use whyoom_redact::{
    html::{Attributes, Markup},
    terminal::grouped,
};
use whyoom_trace::Bytes;

use super::{
    answer::{FitFrontier, FitFrontierRow, FitLargest, FitVary},
    words::short_name,
};

/// In pixels, as is the style sheet's.
const TOP: f64 = 10.0;
const HEIGHT: f64 = 200.0;
/// On both sides, in percent.
const MARGIN: f64 = 2.0;
const TICKS: u64 = 4;
/// Devices with a colour of their own; the others are in the table alone.
const DRAWN: usize = 7;

/// The scale of what is drawn upwards.
struct Scale {
    step: u64,
    top: u64,
    text: fn(u64) -> String,
}

impl Scale {
    fn of(most: u64, mut steps: impl Iterator<Item = u64>, text: fn(u64) -> String) -> Self {
        let most = most.max(1);
        let enough = |step: &u64| step.saturating_mul(TICKS) >= most;
        let step = steps.find(enough).unwrap_or(most);
        Self { step, top: step.saturating_mul(most.div_ceil(step)), text }
    }

    fn of_bytes(most: u64) -> Self {
        Self::of(most, (20..63).map(|power| 1 << power), |bytes| Bytes(bytes).to_string())
    }

    fn of_counts(most: u64) -> Self {
        let steps = (0..18).flat_map(|power| [1, 2, 5].map(|one| one * 10_u64.pow(power)));
        Self::of(most, steps, grouped)
    }

    fn y(&self, value: u64) -> f64 {
        TOP + HEIGHT * (1.0 - value as f64 / self.top as f64)
    }

    fn ticks(&self) -> impl Iterator<Item = u64> {
        (0..=self.top / self.step).map(|tick| tick * self.step)
    }
}

/// The peak over the values, with what each device has room for.
pub(super) fn curve(section: &mut Markup, vary: &FitVary) {
    let (Some(first), Some(last)) = (vary.curve.first(), vary.curve.last()) else { return };
    let peak = vary.curve.iter().map(|point| point.peak_reserved_bytes).max().unwrap_or_default();
    let near = vary.largest.iter().map(|largest| largest.room_bytes);
    let near = near.filter(|room| *room < peak / 2 * 3).max().unwrap_or_default();
    let scale = Scale::of_bytes(peak.max(near));
    let x = |value: u64| {
        let along = value.clamp(first.value, last.value) - first.value;
        let span = (last.value - first.value).max(1);
        MARGIN + (100.0 - 2.0 * MARGIN) * along as f64 / span as f64
    };
    let label = format!("Peak reserved memory by {}; the tables have the figures", vary.name);
    chart(section, &scale, &label, |plot| {
        for (index, largest) in vary.largest.iter().take(DRAWN).enumerate() {
            limit(plot, largest, index, &scale, x);
        }
        for pair in vary.curve.windows(2) {
            let [from, to] = [&pair[0], &pair[1]]
                .map(|point| (x(point.value), scale.y(point.peak_reserved_bytes)));
            line(plot, "drawn", from, to);
        }
        for point in &vary.curve {
            let how = if vary.runs.contains(&point.value) { "run" } else { "computed" };
            let peak = Bytes(point.peak_reserved_bytes);
            let at = (x(point.value), scale.y(point.peak_reserved_bytes));
            circle(plot, how, at, &format!("{} {}: {peak}, {how}", vary.name, point.value));
        }
        for (value, anchor) in [(first.value, "start"), (last.value, "end")] {
            label_at(plot, x(value), anchor, &grouped(value));
        }
    });
    legend(section, &vary.largest, |largest| {
        let fits = match largest.value {
            Some(value) => format!("{} {} fits", vary.name, grouped(value)),
            None => "none fits".to_owned(),
        };
        format!("{}: {}, {fits}", short_name(largest.gpu), Bytes(largest.room_bytes))
    });
    let about = "Filled points were run, the others are computed from those. Dashed lines are what PyTorch's allocator can \
                 have on a GPU; where the curve crosses one, it breaks.";
    section.leaf("p", &[("class", "note")], about);
}

/// What a device has room for, and the largest value that fits.
fn limit(
    plot: &mut Markup,
    largest: &FitLargest,
    index: usize,
    scale: &Scale,
    x: impl Fn(u64) -> f64,
) {
    if largest.room_bytes > scale.top {
        return;
    }
    let y = scale.y(largest.room_bytes);
    line(plot, &format!("limit l{index}"), (0.0, y), (100.0, y));
    if let Some(value) = largest.value {
        let x = x(value);
        line(plot, &format!("break l{index}"), (x, y), (x, TOP + HEIGHT));
        let (x, y) = (format!("{x:.3}%"), format!("{:.2}", y - 6.0));
        let at = [("class", "value"), ("x", &x), ("y", &y), ("text-anchor", "end")];
        plot.leaf("text", &at, &grouped(value));
    }
}

/// The largest value in each row, a line for each device.
pub(super) fn frontier(section: &mut Markup, frontier: &FitFrontier) {
    let values = frontier.rows.iter().flat_map(|row| &row.largest);
    let scale =
        Scale::of_counts(values.filter_map(|largest| largest.value).max().unwrap_or_default());
    let slot = 100.0 / frontier.rows.len().max(1) as f64;
    let middle = |row: usize| slot * (row as f64 + 0.5);
    let (name, by) = (&frontier.name, frontier.by.join(", "));
    let label = format!("The largest {name} that fits by {by}; the table has the figures");
    chart(section, &scale, &label, |plot| {
        let devices = frontier.rows.first().map_or(0, |row| row.largest.len());
        for device in 0..devices.min(DRAWN) {
            let point = |row: &FitFrontierRow| row.largest[device].value.unwrap_or_default();
            let rows = frontier.rows.iter().enumerate();
            let points: Vec<(f64, f64)> =
                rows.map(|(index, row)| (middle(index), scale.y(point(row)))).collect();
            for pair in points.windows(2) {
                line(plot, &format!("drawn l{device}"), pair[0], pair[1]);
            }
            for (row, at) in frontier.rows.iter().zip(points) {
                let largest = &row.largest[device];
                let how = if largest.confirmed { "run" } else { "computed" };
                let value = largest.value.map_or("none".to_owned(), grouped);
                let what = format!("{}: {name} {value} with {by} {}", largest.gpu, shown(row));
                circle(plot, &format!("{how} l{device}"), at, &what);
            }
        }
        for (index, row) in frontier.rows.iter().enumerate() {
            label_at(plot, middle(index), "middle", &shown(row));
        }
    });
    let devices = frontier.rows.first().map_or(&[][..], |row| &row.largest[..]);
    legend(section, devices, |largest| {
        format!("{}: {}", short_name(largest.gpu), Bytes(largest.room_bytes))
    });
    let about = format!(
        "The largest {name} that fits, for values of {by}. Filled points were confirmed by runs, the others are predicted."
    );
    section.leaf("p", &[("class", "note")], &about);
}

/// The values of a row.
fn shown(row: &FitFrontierRow) -> String {
    let values: Vec<String> = row.values.iter().map(u64::to_string).collect();
    values.join(", ")
}

fn chart(parent: &mut Markup, scale: &Scale, label: &str, inside: impl FnOnce(&mut Markup)) {
    parent.element("div", &[("class", "chart curve")], |chart| {
        chart.element("svg", &[("class", "axis"), ("aria-hidden", "true")], |axis| {
            for tick in scale.ticks() {
                let y = format!("{:.1}", scale.y(tick) + 4.0);
                axis.leaf("text", &[("x", "100%"), ("y", &y)], &(scale.text)(tick));
            }
        });
        let attributes = [("class", "plot"), ("role", "img"), ("aria-label", label)];
        chart.element("svg", &attributes, |plot| {
            for tick in scale.ticks() {
                line(plot, "tick", (0.0, scale.y(tick)), (100.0, scale.y(tick)));
            }
            inside(plot);
        });
    });
}

fn legend(parent: &mut Markup, devices: &[FitLargest], text: impl Fn(&FitLargest) -> String) {
    parent.element("ul", &[("class", "legend")], |legend| {
        for (index, largest) in devices.iter().take(DRAWN).enumerate() {
            legend.element("li", &[], |item| {
                let class = format!("swatch s{index}");
                item.leaf("span", &[("class", &class), ("aria-hidden", "true")], "");
                item.text(&text(largest));
            });
        }
        if devices.len() > DRAWN {
            legend.leaf("li", &[], &format!("{} more in the table", devices.len() - DRAWN));
        }
    });
}

/// Across in percent, down in pixels.
fn line(plot: &mut Markup, class: &str, from: (f64, f64), to: (f64, f64)) {
    let [x1, x2] = [from.0, to.0].map(|x| format!("{x:.3}%"));
    let [y1, y2] = [from.1, to.1].map(|y| format!("{y:.2}"));
    let attributes: Attributes<'_> =
        &[("class", class), ("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)];
    plot.leaf("line", attributes, "");
}

fn circle(plot: &mut Markup, class: &str, at: (f64, f64), title: &str) {
    let (x, y) = (format!("{:.3}%", at.0), format!("{:.2}", at.1));
    let radius = if class.starts_with("run") { "4" } else { "2" };
    let attributes = [("class", class), ("cx", &x), ("cy", &y), ("r", radius)];
    plot.element("circle", &attributes, |circle| circle.leaf("title", &[], title));
}

/// Below the chart.
fn label_at(plot: &mut Markup, x: f64, anchor: &str, text: &str) {
    let (x, y) = (format!("{x:.3}%"), format!("{:.0}", TOP + HEIGHT + 18.0));
    let attributes = [("class", "label"), ("x", x.as_str()), ("y", &y), ("text-anchor", anchor)];
    plot.leaf("text", &attributes, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_above_what_they_show() {
        for most in [0, 1, 5, 101, 12_345, 1 << 35, u64::MAX] {
            for scale in [Scale::of_bytes(most), Scale::of_counts(most)] {
                assert!(scale.top >= most.max(1), "{most}");
                assert!(scale.ticks().take(9).count() <= TICKS as usize + 1, "{most}");
            }
        }
    }
}
