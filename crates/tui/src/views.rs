//! What is drawn. Each view turns the state into lines as wide as its place, and changes nothing.

mod bar;
mod confirm;
mod details;
mod device;
mod devices;
mod edges;
mod findings;
mod help;
mod lines;
mod overlay;
mod table;

use lines::{OwnLine, put};
use ratatui::{buffer::Buffer, layout::Rect};

use crate::{
    state::{Drawn, Mode, State},
    theme::Theme,
};

/// Draws everything.
pub(crate) fn draw(state: &State, theme: Theme, area: Rect, buffer: &mut Buffer) -> Drawn {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return Drawn::default();
    }
    let sheet = Sheet::of(area);
    put(&[edges::header(state, theme, area.width.into())], sheet.header, buffer);
    put(&[edges::footer(state, theme, area.width.into())], sheet.footer, buffer);
    let page = draw_body(state, theme, sheet.body, buffer);
    let on_top = draw_on_top(state, theme, sheet.body, buffer);
    Drawn { page, ..on_top }
}

/// All of it as lines, however many: for a page that is printed once.
pub(crate) fn page(state: &State, theme: Theme, width: usize) -> Vec<OwnLine> {
    let mut lines = vec![edges::header(state, theme, width)];
    lines.extend(devices::all(state, theme, width));
    lines.extend(table::all(state, theme, width));
    lines.extend(edges::notes(state, theme, width));
    lines
}

/// The devices above, the table below. Answers how many rows fit.
fn draw_body(state: &State, theme: Theme, body: Rect, buffer: &mut Buffer) -> usize {
    let (width, height) = (usize::from(body.width), usize::from(body.height));
    // Half for processes where there are so many, the rest for devices.
    let for_table = (state.rows().len().max(1) + 1).min(height.div_ceil(2));
    let devices = devices::lines(state, theme, width, height - for_table);
    let used = put(&devices, body, buffer);
    let below = Rect { y: body.y + used, height: body.height - used, ..body };
    let page = usize::from(below.height).saturating_sub(1);
    put(&table::lines(state, theme, width, page), below, buffer);
    page
}

/// What lies over the table.
fn draw_on_top(state: &State, theme: Theme, body: Rect, buffer: &mut Buffer) -> Drawn {
    let overlay = match &state.mode {
        Mode::Table | Mode::Filter => return Drawn::default(),
        Mode::Details => details::overlay(state, theme, body),
        Mode::Findings => findings::overlay(state, theme, body),
        Mode::Help => help::overlay(theme, body),
        Mode::Confirm(question) => confirm::overlay(question, theme, body),
    };
    overlay.draw(state.scroll, theme, body, buffer)
}

/// The parts of the screen. What is small loses its footer first, then its header.
struct Sheet {
    header: Rect,
    body: Rect,
    footer: Rect,
}

impl Sheet {
    fn of(area: Rect) -> Self {
        let head = u16::from(area.height >= 5);
        let foot = u16::from(area.height >= 4);
        let body = area.height - head - foot;
        Self {
            header: Rect { height: head, ..area },
            body: Rect { y: area.y + head, height: body, ..area },
            footer: Rect { y: area.y + head + body, height: foot, ..area },
        }
    }
}
