//! Lines of text, and how they come onto the screen.

use ratatui::{buffer::Buffer, layout::Rect, text::Line};

/// A line that owns its text.
pub(super) type OwnLine = Line<'static>;

/// Writes lines from the top of an area, as many as fit; answers how many did.
pub(super) fn put(lines: &[OwnLine], area: Rect, buffer: &mut Buffer) -> u16 {
    let mut used = 0;
    for (line, y) in lines.iter().zip(area.top()..area.bottom()) {
        buffer.set_line(area.x, y, line, area.width);
        buffer.set_style(Rect { y, height: 1, ..area }, line.style);
        used += 1;
    }
    used
}
