//! A framed text over the table.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    widgets::{Block, Clear, Widget},
};

use super::{OwnLine, put};
use crate::{fitting::cut, state::Drawn, theme::Theme};

/// The frame's share of a width or a height.
const FRAME: u16 = 2;
/// What must be read before it is answered needs at least so many columns.
const READABLE: u16 = 32;

/// A text with a title.
pub(super) struct Overlay {
    pub(super) title: String,
    pub(super) lines: Vec<OwnLine>,
    /// Where it may be.
    pub(super) place: Place,
}

/// Where a text lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Over all of the table and the devices.
    Everywhere,
    /// In the middle, as small as it can be.
    Middle,
}

/// How many columns a text over `body` has.
pub(super) fn text_width(body: Rect) -> usize {
    usize::from(body.width.saturating_sub(FRAME + 2))
}

impl Overlay {
    /// Draws it, `scroll` lines moved up.
    pub(super) fn draw(
        &self,
        scroll: usize,
        theme: Theme,
        body: Rect,
        buffer: &mut Buffer,
    ) -> Drawn {
        let area = match self.place {
            Place::Everywhere => body,
            Place::Middle => self.middle(body),
        };
        Clear.render(area, buffer);
        let title = format!(" {} ", self.title);
        let title = cut(&title, usize::from(area.width.saturating_sub(FRAME)), theme.cut_mark());
        let block = Block::bordered().border_set(theme.frame()).title(title);
        let inside = block.inner(area);
        block.render(area, buffer);
        let inside = Rect {
            x: inside.x + u16::from(inside.width > 1),
            width: inside.width.saturating_sub(2),
            ..inside
        };
        let hidden_lines = self.lines.len().saturating_sub(inside.height.into());
        let first = scroll.min(hidden_lines);
        put(&self.lines[first..], inside, buffer);
        self.show_more(area, first < hidden_lines, theme, buffer);
        let whole = hidden_lines == 0 && inside.width >= READABLE;
        Drawn { page: 0, hidden_lines, question_is_whole: whole }
    }

    fn middle(&self, body: Rect) -> Rect {
        let lines = u16::try_from(self.lines.len()).unwrap_or(u16::MAX);
        let height = lines.saturating_add(FRAME).min(body.height);
        Rect { y: body.y + (body.height - height) / 2, height, ..body }
    }

    /// Says in the frame that there is more below.
    fn show_more(&self, area: Rect, more: bool, theme: Theme, buffer: &mut Buffer) {
        const WORDS: &str = " more: Down ";
        let width = WORDS.len() as u16;
        if more && area.width > width + FRAME && area.height > 1 {
            buffer.set_string(area.right() - width - 2, area.bottom() - 1, WORDS, theme.strong());
        }
    }
}
