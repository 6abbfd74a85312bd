//! The weeks of a chart and its series, and the same as a table.

use std::collections::BTreeMap;

use jiff::{ToSpan as _, civil::Date};
use whyoom_redact::html::Markup;

use crate::report::figures::{Figures, Week};
use crate::report::words::{grouped, short};

/// Causes with a colour of their own; the others share one.
pub(super) const SERIES: usize = 7;
/// More columns would be thinner than a pixel on a phone.
const MOST_WEEKS: usize = 104;

/// A cause, or the others as one.
pub(super) struct Series<'a> {
    pub(super) name: &'a str,
    pub(super) incidents: u64,
}

pub(super) fn series(figures: &Figures) -> Vec<Series<'_>> {
    let (own, rest) = figures.causes.split_at(figures.causes.len().min(SERIES));
    let mut series: Vec<Series<'_>> =
        own.iter().map(|one| Series { name: &one.name, incidents: one.incidents }).collect();
    if !rest.is_empty() {
        let incidents = rest.iter().map(|one| one.incidents).sum();
        series.push(Series { name: "other causes", incidents });
    }
    series
}

/// Incidents of a week, by series.
pub(super) fn split(week: &Week, series: &[Series<'_>]) -> Vec<u64> {
    let own = series.iter().take(SERIES);
    let mut counts: Vec<u64> =
        own.map(|one| week.causes.get(one.name).copied().unwrap_or(0)).collect();
    if series.len() > SERIES {
        counts.push(week.incidents - counts.iter().sum::<u64>());
    }
    counts
}

/// The weeks that the chart has, with those in between that had no incident, and whether that is all of them. A
/// clock that was wrong for a day must not make a chart of fifty years.
pub(super) fn shown(weeks: &[Week]) -> (Vec<Week>, bool) {
    gapless(weeks).map_or_else(
        || (weeks.iter().rev().take(MOST_WEEKS).rev().cloned().collect(), false),
        |all| (all, true),
    )
}

fn gapless(weeks: &[Week]) -> Option<Vec<Week>> {
    let day = |week: &Week| week.monday.parse::<Date>().ok();
    let last = day(weeks.last()?)?;
    let mut monday = day(weeks.first()?)?;
    let mut there = weeks.iter().peekable();
    let mut all = Vec::new();
    while monday <= last {
        if all.len() == MOST_WEEKS {
            return None;
        }
        let name = monday.to_string();
        let empty = || Week { monday: name.clone(), incidents: 0, causes: BTreeMap::new() };
        all.push(there.next_if(|week| week.monday == name).cloned().unwrap_or_else(empty));
        monday = monday.checked_add(7.days()).ok()?;
    }
    Some(all)
}

pub(super) fn table(details: &mut Markup, series: &[Series<'_>], weeks: &[Week]) {
    // It may be wider than a phone: then it moves under a finger, or under the arrow keys.
    let around = [("class", "wide-table"), ("tabindex", "0"), ("role", "region")];
    let named = [("aria-label", "Incidents by week")];
    details.element("div", &[&around[..], &named[..]].concat(), |around| {
        around.element("table", &[], |table| {
            table.leaf("caption", &[], "Incidents by week and cause");
            table.element("thead", &[], |head| {
                head.element("tr", &[], |row| {
                    row.leaf("th", &[("scope", "col")], "week of");
                    row.leaf("th", &[("scope", "col"), ("class", "count")], "incidents");
                    for one in series {
                        let name = short(one.name);
                        row.leaf("th", &[("scope", "col"), ("class", "count")], &name);
                    }
                });
            });
            table.element("tbody", &[], |body| {
                weeks
                    .iter()
                    .for_each(|week| body.element("tr", &[], |row| cells(row, week, series)));
            });
        });
    });
}

fn cells(row: &mut Markup, week: &Week, series: &[Series<'_>]) {
    row.leaf("th", &[("scope", "row")], &week.monday);
    row.leaf("td", &[("class", "count")], &grouped(week.incidents));
    for count in split(week, series) {
        row.leaf("td", &[("class", "count")], &grouped(count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn week(monday: &str) -> Week {
        Week { monday: monday.to_owned(), incidents: 1, causes: BTreeMap::new() }
    }

    #[test]
    fn a_week_without_incidents_is_a_gap() {
        let (weeks, is_gapless) = shown(&[week("2026-10-19"), week("2026-11-02")]);
        let counts: Vec<u64> = weeks.iter().map(|week| week.incidents).collect();
        assert_eq!((counts, is_gapless), (vec![1, 0, 1], true));
        assert_eq!(weeks[1].monday, "2026-10-26");
    }

    #[test]
    fn a_wrong_clock_makes_no_endless_chart() {
        let (weeks, is_gapless) = shown(&[week("1969-12-29"), week("2026-11-02")]);
        assert_eq!((weeks.len(), is_gapless), (2, false));
    }
}
