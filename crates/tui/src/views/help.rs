//! The keys.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    OwnLine,
    overlay::{Overlay, Place, text_width},
};
use crate::{
    fitting::{cut, padded},
    keys::{BINDINGS, Binding},
    theme::Theme,
};

/// Two columns of keys need so much.
const TWO_COLUMNS: usize = 88;
const KEYS: usize = 10;

pub(super) fn overlay(theme: Theme, body: Rect) -> Overlay {
    let width = text_width(body);
    let shown: Vec<&Binding> =
        BINDINGS.iter().filter(|binding| !binding.shown.is_empty()).collect();
    let columns = if width >= TWO_COLUMNS { 2 } else { 1 };
    let height = shown.len().div_ceil(columns);
    let line = |number: usize| {
        let cells = shown.iter().skip(number).step_by(height);
        let spans = cells.flat_map(|binding| cell(binding, theme, width / columns));
        Line::from(spans.collect::<Vec<_>>())
    };
    let lines: Vec<OwnLine> = (0..height).map(line).collect();
    Overlay { title: "Keys".to_owned(), lines, place: Place::Everywhere }
}

fn cell(binding: &Binding, theme: Theme, width: usize) -> [Span<'static>; 2] {
    let room = width.saturating_sub(KEYS);
    let about = padded(&cut(binding.about, room, theme.cut_mark()), room, false);
    [Span::styled(padded(binding.shown, KEYS, false), theme.paste()), Span::raw(about)]
}
