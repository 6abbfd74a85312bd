//! What is drawn. Each view turns the state into lines as wide as its place, and changes nothing.

mod bar;
mod confirm;
mod details;
mod device;
mod devices;
mod edges;
mod findings;
mod help;
mod overlay;
mod table;

use ratatui::{buffer::Buffer, layout::Rect, text::Line};

use crate::{
    look::Look,
    state::{Drawn, Mode, State},
};

/// A line that owns its text.
type OwnLine = Line<'static>;

/// Draws everything.
pub(crate) fn draw(state: &State, look: Look, area: Rect, buffer: &mut Buffer) -> Drawn {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return Drawn::default();
    }
    let sheet = Sheet::of(area);
    put(&[edges::header(state, look, area.width.into())], sheet.header, buffer);
    put(&[edges::footer(state, look, area.width.into())], sheet.footer, buffer);
    let page = draw_body(state, look, sheet.body, buffer);
    let on_top = draw_on_top(state, look, sheet.body, buffer);
    Drawn { page, ..on_top }
}

/// All of it as lines, however many: for a page that is printed once.
pub(crate) fn page(state: &State, look: Look, width: usize) -> Vec<OwnLine> {
    let mut lines = vec![edges::header(state, look, width)];
    lines.extend(devices::all(state, look, width));
    lines.extend(table::all(state, look, width));
    lines.extend(edges::notes(state, look, width));
    lines
}

/// The devices above, the table below. Answers how many rows fit.
fn draw_body(state: &State, look: Look, body: Rect, buffer: &mut Buffer) -> usize {
    let (width, height) = (usize::from(body.width), usize::from(body.height));
    // Half for processes where there are so many, the rest for devices.
    let for_table = (state.rows().len().max(1) + 1).min(height.div_ceil(2));
    let devices = devices::lines(state, look, width, height - for_table);
    let used = put(&devices, body, buffer);
    let below = Rect { y: body.y + used, height: body.height - used, ..body };
    let page = usize::from(below.height).saturating_sub(1);
    put(&table::lines(state, look, width, page), below, buffer);
    page
}

/// What lies over the table.
fn draw_on_top(state: &State, look: Look, body: Rect, buffer: &mut Buffer) -> Drawn {
    let overlay = match &state.mode {
        Mode::Table | Mode::Filter => return Drawn::default(),
        Mode::Details => details::overlay(state, look, body),
        Mode::Findings => findings::overlay(state, look, body),
        Mode::Help => help::overlay(look, body),
        Mode::Confirm(question) => confirm::overlay(question, look, body),
    };
    overlay.draw(state.scroll, look, body, buffer)
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

/// Writes lines from the top of an area, as many as fit; answers how many did.
fn put(lines: &[OwnLine], area: Rect, buffer: &mut Buffer) -> u16 {
    let mut used = 0;
    for (line, y) in lines.iter().zip(area.top()..area.bottom()) {
        buffer.set_line(area.x, y, line, area.width);
        buffer.set_style(Rect { y, height: 1, ..area }, line.style);
        used += 1;
    }
    used
}
