//! Bars and histories, as text.

use crate::theme::Theme;

const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII_LEVELS: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];

/// The filled and the empty part of a bar, together `width` columns.
pub(super) fn bar(share: f64, width: usize, theme: Theme) -> (String, String) {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let steps = if theme.unicode { 8 } else { 1 };
    let filled = (share * (width * steps) as f64).round() as usize;
    let (whole, rest) = (filled / steps, filled % steps);
    if !theme.unicode {
        return ("#".repeat(whole), ".".repeat(width - whole));
    }
    let mut full = "█".repeat(whole);
    if rest > 0 {
        full.push(EIGHTHS[rest - 1]);
    }
    let empty = "░".repeat(width - whole - usize::from(rest > 0));
    (full, empty)
}

/// The last values as `height` lines of columns, the newest on the right; blank where unknown.
pub(super) fn graph(
    values: &[Option<f64>],
    width: usize,
    height: usize,
    theme: Theme,
) -> Vec<String> {
    let shown = &values[values.len().saturating_sub(width)..];
    let lead = " ".repeat(width - shown.len());
    let levels = if theme.unicode { &LEVELS } else { &ASCII_LEVELS };
    let line = |from_top: usize| {
        let below = (height - 1 - from_top) * levels.len();
        let cell = |value: &Option<f64>| match value.filter(|value| value.is_finite()) {
            None => ' ',
            Some(value) => {
                // What is known is at least the lowest level: nothing differs from unknown.
                let top = (value.clamp(0.0, 1.0) * (height * levels.len()) as f64).ceil() as usize;
                match top.max(1).saturating_sub(below) {
                    0 => ' ',
                    level => levels[level.min(levels.len()) - 1],
                }
            }
        };
        lead.chars().chain(shown.iter().map(cell)).collect()
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNICODE: Theme = Theme { colour: false, unicode: true };
    const ASCII: Theme = Theme { colour: false, unicode: false };

    #[test]
    fn a_bar_is_as_wide_as_asked() {
        for width in 0..30_usize {
            for share in [-1.0, 0.0, 0.001, 0.499, 0.5, 0.999, 1.0, 7.0, f64::NAN] {
                for theme in [UNICODE, ASCII] {
                    let (full, empty) = bar(share, width, theme);
                    assert_eq!(full.chars().count() + empty.chars().count(), width);
                }
            }
        }
        assert_eq!(bar(0.5, 4, UNICODE), ("██".to_owned(), "░░".to_owned()));
        assert_eq!(bar(0.5, 4, ASCII), ("##".to_owned(), "..".to_owned()));
    }

    #[test]
    fn a_graph_has_the_newest_on_the_right() {
        let values = [Some(0.0), None, Some(0.5), Some(1.0)];
        assert_eq!(graph(&values, 6, 1, UNICODE), ["  ▁ ▄█"]);
        assert_eq!(graph(&values, 2, 2, UNICODE), [" █", "██"]);
        assert_eq!(graph(&values, 4, 1, ASCII), ["_ -#"]);
    }
}
