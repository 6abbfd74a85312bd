//! `--fail-if`: a regression of memory, for continuous integration.

use whyoom_diff::{Comparison as Compared, Figures, RankComparison};
use whyoom_report::DiffCondition;
use whyoom_trace::Bytes;

use crate::comparison::{self, Comparison};

/// What must not hold of B: `peak>+5%`.
pub(crate) type Condition = Comparison<Figure>;

/// What can be asked of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Figure {
    Peak,
    Reserved,
    Steady,
}

impl comparison::Figure for Figure {
    const NAMES: &'static [(&'static str, Self)] =
        &[("peak", Self::Peak), ("reserved", Self::Reserved), ("steady", Self::Steady)];
    const EXAMPLE: &'static str = "'peak>+5%'";
    const RELATIVE: bool = true;
}

impl Figure {
    fn of(self, figures: &Figures) -> Option<i64> {
        let bytes = match self {
            Self::Peak => figures.peak,
            Self::Reserved => figures.reserved,
            Self::Steady => figures.steady?,
        };
        i64::try_from(bytes).ok()
    }
}

impl Condition {
    /// Whether it holds for any rank; with the figures that decided. One without figures fails too: nothing bears out
    /// that memory did not grow.
    pub(crate) fn judge(&self, compared: &Compared) -> DiffCondition {
        let both =
            |rank: &RankComparison| Some((self.figure.of(&rank.a)?, self.figure.of(&rank.b)?));
        let figures: Option<Vec<(i64, i64)>> = compared.ranks.iter().map(both).collect();
        let figures = figures.filter(|figures| !figures.is_empty());
        let Some(figures) = figures else {
            let found = "not known of both runs, which counts as a failure".to_owned();
            return DiffCondition { text: self.text.clone(), holds: true, found };
        };
        let decides = figures.iter().find(|(a, b)| self.holds_beside(*b, *a));
        let (a, b) = decides.or(figures.first()).copied().unwrap_or_default();
        let found = format!("{} in A, {} in B", bytes(a), bytes(b));
        DiffCondition { text: self.text.clone(), holds: decides.is_some(), found }
    }
}

fn bytes(figure: i64) -> Bytes {
    Bytes(figure.unsigned_abs())
}
