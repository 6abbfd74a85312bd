//! The devices, as fully as the room allows.

use ratatui::text::Line;
use whyoom_node::DeviceReport;

use super::{
    OwnLine,
    device::{Detail, describe, height},
    edges,
};
use crate::{state::State, theme::Theme, wording};

/// A taller history says no more.
const MAX_GRAPH: usize = 6;
/// Bars with their figures need so many columns.
const BARS_WIDTH: usize = 56;

/// The devices in at most `room` lines.
pub(super) fn lines(state: &State, theme: Theme, width: usize, room: usize) -> Vec<OwnLine> {
    let devices = shown(state);
    if devices.is_empty() {
        return nothing(state, theme, width);
    }
    let total = |detail: Detail| devices.iter().map(|device| height(device, detail)).sum::<usize>();
    let fits = |detail: &Detail| total(*detail) <= room;
    let details = [Detail::Full { graph: 1 }, Detail::Bars, Detail::Brief, Detail::Least];
    let too_wide = if width < BARS_WIDTH { 2 } else { 0 };
    let Some(mut detail) = details.into_iter().skip(too_wide).find(fits) else {
        return some(state, theme, width, room, &devices);
    };
    if let (Detail::Full { graph }, [_]) = (&mut detail, devices.as_slice()) {
        *graph = MAX_GRAPH.min(*graph + room - total(Detail::Full { graph: 1 }));
    }
    devices.iter().flat_map(|device| describe(device, detail, state, theme, width)).collect()
}

/// The devices in full, but for their history: there is none at first.
pub(super) fn all(state: &State, theme: Theme, width: usize) -> Vec<OwnLine> {
    let devices = shown(state);
    if devices.is_empty() {
        return nothing(state, theme, width);
    }
    devices.iter().flat_map(|device| describe(device, Detail::Page, state, theme, width)).collect()
}

/// Those that are chosen.
fn shown(state: &State) -> Vec<&DeviceReport> {
    let chosen = state.arrangement.device;
    let devices = state.report().map_or(&[][..], |report| &report.devices);
    devices
        .iter()
        .filter(|device| chosen.is_none_or(|chosen| chosen == device.device.index))
        .collect()
}

/// The first of them, and how many are left out.
fn some(
    state: &State,
    theme: Theme,
    width: usize,
    room: usize,
    devices: &[&DeviceReport],
) -> Vec<OwnLine> {
    let fitting = room.saturating_sub(1);
    let first = devices.iter().take(fitting);
    let mut lines: Vec<OwnLine> =
        first.flat_map(|device| describe(device, Detail::Least, state, theme, width)).collect();
    let more = wording::count(devices.len() - fitting, "GPU more", "GPUs more");
    lines.push(Line::styled(format!("and {more}: Tab shows one at a time"), theme.faint()));
    lines.truncate(room);
    lines
}

/// Why there is nothing to show.
fn nothing(state: &State, theme: Theme, width: usize) -> Vec<OwnLine> {
    let (text, style) = match (state.report(), &state.trouble) {
        (None, None) => ("reading the devices".to_owned(), theme.faint()),
        (None, Some(trouble)) => (format!("! {trouble}"), theme.alarm()),
        (Some(_), _) => match state.arrangement.device {
            Some(device) => (format!("there is no GPU {device}: 0 shows all"), theme.strong()),
            None => ("the driver lists no GPU".to_owned(), theme.strong()),
        },
    };
    let text = crate::fitting::wrapped(&text, width);
    let mut lines: Vec<OwnLine> = text.into_iter().map(|line| Line::styled(line, style)).collect();
    lines.extend(edges::notes(state, theme, width));
    lines
}
