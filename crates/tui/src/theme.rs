//! How things look: with or without colour, in Unicode or ASCII.

use ratatui::{
    style::{Color, Modifier, Style},
    symbols::border,
};

use crate::state::ProcessState;

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Colours. Without them nothing is lost: a mark or a word says the same.
    pub colour: bool,
    /// Blocks, lines and arrows; otherwise ASCII.
    pub unicode: bool,
}

impl Theme {
    /// What must be read first.
    pub(crate) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What matters less.
    pub(crate) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What is suspicious.
    pub(crate) fn alarm(self) -> Style {
        self.in_colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// A line to paste, a key to press.
    pub(crate) fn paste(self) -> Style {
        self.in_colour(Color::Cyan)
    }

    /// The selected row.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// A share of something that can run out.
    pub(crate) fn share(self, share: f64) -> Style {
        match share {
            ..0.75 => self.in_colour(Color::Green),
            ..0.9 => self.in_colour(Color::Yellow),
            _ => self.in_colour(Color::Red),
        }
    }

    /// How busy something is, which is not bad.
    pub(crate) fn busy(self) -> Style {
        self.in_colour(Color::Blue)
    }

    /// A process's state.
    pub(crate) fn standing(self, standing: ProcessState) -> Style {
        if standing.is_suspicious() { self.in_colour(Color::Red) } else { Style::new() }
    }

    fn in_colour(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// Says that a text was cut.
    pub(crate) fn cut_mark(self) -> char {
        if self.unicode { '…' } else { '~' }
    }

    /// The one the other way round.
    pub(crate) fn order_mark(self, reversed: bool) -> &'static str {
        match (self.unicode, reversed) {
            (true, false) => "▼",
            (true, true) => "▲",
            (false, false) => "v",
            (false, true) => "^",
        }
    }

    pub(crate) fn frame(self) -> border::Set<'static> {
        const ASCII: border::Set<'static> = border::Set {
            top_left: "+",
            top_right: "+",
            bottom_left: "+",
            bottom_right: "+",
            vertical_left: "|",
            vertical_right: "|",
            horizontal_top: "-",
            horizontal_bottom: "-",
        };
        if self.unicode { border::PLAIN } else { ASCII }
    }
}
