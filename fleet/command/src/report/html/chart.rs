//! The causes of each week, as stacked columns.
//!
//! Columns are placed in percent and texts in pixels: on a phone the chart becomes narrower and its texts do not
//! become smaller.

use jiff::civil::Date;
use whyoom_redact::html::Markup;

use super::weeks::{self, Series};
use crate::report::figures::{Figures, Week};
use crate::report::words::{counted, grouped, short};

/// Fewer weeks take no more room than they would among these.
const LEAST_SLOTS: usize = 8;
/// Labels below the columns: what a desk has room for, and a phone.
const LABELS: (usize, usize) = (10, 4);
/// Nearer to an edge, in percent, half a label has no room on a phone.
const EDGE: f64 = 6.0;
/// In pixels, as is the style sheet's.
const TOP: f64 = 10.0;
const HEIGHT: f64 = 200.0;
const TICKS: u64 = 4;
/// The part of its slot that a column takes.
const FILL: f64 = 0.72;

pub(super) fn write(section: &mut Markup, figures: &Figures) {
    let series = weeks::series(figures);
    let (weeks, is_gapless) = weeks::shown(&figures.weeks);
    let top = Scale::of(weeks.iter().map(|week| week.incidents).max().unwrap_or(0));
    section.leaf("h2", &[], "Causes by week");
    section.element("div", &[("class", "chart")], |chart| {
        axis(chart, &top);
        columns(chart, &series, &weeks, &top);
    });
    section.element("ul", &[("class", "legend")], |legend| {
        for (index, one) in series.iter().enumerate() {
            legend.element("li", &[], |item| {
                swatch(item, index);
                item.text(&format!("{} ({})", short(one.name), grouped(one.incidents)));
            });
        }
    });
    if !is_gapless {
        let left_out = format!(
            "The chart has the latest {} with incidents, and no room for weeks without.",
            counted(weeks.len() as u64, "week")
        );
        section.leaf("p", &[("class", "note")], &left_out);
    }
    section.element("details", &[], |details| {
        details.leaf("summary", &[], "The figures as a table");
        weeks::table(details, &series, &figures.weeks);
    });
}

/// The mark of a cause's colour.
pub(super) fn swatch(parent: &mut Markup, series: usize) {
    let class = format!("swatch s{series}");
    parent.leaf("span", &[("class", &class), ("aria-hidden", "true")], "");
}

/// The scale of the counts.
struct Scale {
    step: u64,
    top: u64,
}

impl Scale {
    fn of(most: u64) -> Self {
        let steps = (0..18).flat_map(|power| [1, 2, 5].map(|one| one * 10_u64.pow(power)));
        let step = steps.into_iter().find(|step| step * TICKS >= most).unwrap_or(most);
        Self { step, top: step * most.div_ceil(step).max(1) }
    }

    fn y(&self, count: u64) -> f64 {
        TOP + HEIGHT * (1.0 - count as f64 / self.top as f64)
    }

    fn ticks(&self) -> impl Iterator<Item = u64> {
        (0..=self.top / self.step).map(|tick| tick * self.step)
    }
}

fn axis(chart: &mut Markup, scale: &Scale) {
    chart.element("svg", &[("class", "axis"), ("aria-hidden", "true")], |axis| {
        for tick in scale.ticks() {
            let y = format!("{:.1}", scale.y(tick) + 4.0);
            axis.leaf("text", &[("x", "100%"), ("y", &y)], &grouped(tick));
        }
    });
}

fn columns(chart: &mut Markup, series: &[Series<'_>], weeks: &[Week], scale: &Scale) {
    let slot = 100.0 / weeks.len().max(LEAST_SLOTS) as f64;
    let label =
        "Incidents of each week by cause, as stacked columns; the table below has the figures";
    let attributes = [("class", "plot"), ("role", "img"), ("aria-label", label)];
    chart.element("svg", &attributes, |plot| {
        for tick in scale.ticks() {
            let y = format!("{:.1}", scale.y(tick));
            let line = [("x1", "0"), ("x2", "100%"), ("y1", y.as_str()), ("y2", y.as_str())];
            plot.leaf("line", &line, "");
        }
        for (index, week) in weeks.iter().enumerate() {
            column(plot, series, week, scale, (index as f64 * slot, slot));
        }
        labels(plot, weeks, slot);
    });
}

fn column(
    plot: &mut Markup,
    series: &[Series<'_>],
    week: &Week,
    scale: &Scale,
    (left, slot): (f64, f64),
) {
    let (x, width) =
        (format!("{:.3}%", left + slot * (1.0 - FILL) / 2.0), format!("{:.3}%", slot * FILL));
    let mut below = 0;
    for (index, (one, count)) in series.iter().zip(weeks::split(week, series)).enumerate() {
        if count == 0 {
            continue;
        }
        let (upper, lower) = (scale.y(below + count), scale.y(below));
        let (y, height) = (format!("{upper:.2}"), format!("{:.2}", lower - upper));
        let class = format!("s{index}");
        let rect =
            [("class", &class), ("x", &x), ("y", &y), ("width", &width), ("height", &height)];
        plot.element("rect", &rect.map(|(name, value)| (name, value.as_str())), |rect| {
            let what = format!(
                "week of {}: {} {} of {}",
                week.monday,
                grouped(count),
                short(one.name),
                counted(week.incidents, "incident")
            );
            rect.leaf("title", &[], &what);
        });
        below += count;
    }
}

/// The days of some weeks. Those at the edges begin or end there, so that none is cut off.
fn labels(plot: &mut Markup, weeks: &[Week], slot: f64) {
    let slots = weeks.len().max(LEAST_SLOTS);
    let often = slots.div_ceil(LABELS.0);
    let rarely = often * slots.div_ceil(LABELS.1 * often);
    let y = format!("{:.0}", TOP + HEIGHT + 18.0);
    for (index, week) in weeks.iter().enumerate().step_by(often) {
        let left = index as f64 * slot;
        let (x, anchor) = match left + slot / 2.0 {
            middle if middle < EDGE => (left, "start"),
            middle if middle > 100.0 - EDGE => (left + slot, "end"),
            middle => (middle, "middle"),
        };
        let room = if index % rarely == 0 { "label" } else { "label wide" };
        let text =
            [("class", room), ("x", &format!("{x:.3}%")), ("y", &y), ("text-anchor", anchor)];
        plot.leaf("text", &text, &day(&week.monday));
    }
}

/// As people write a day, without the year.
fn day(monday: &str) -> String {
    let day = monday.parse::<Date>();
    day.map_or_else(|_| monday.to_owned(), |day| day.strftime("%-d %b").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_above_what_they_show() {
        for most in [0, 1, 4, 5, 99, 100, 101, 12_345, 10_000_000] {
            let scale = Scale::of(most);
            assert!(scale.top >= most.max(1) && scale.ticks().count() <= TICKS as usize + 1);
            assert_eq!(scale.top % scale.step, 0, "{most}");
        }
    }
}
