//! The cases by which verdicts are examined, and how right an answer is. Cases are tables in
//! `tests/scenarios`; `tests/suites/score` runs them, `cargo xtask score` adds them up.

mod advice;
mod answer;
mod case;
mod grade;
mod printed;
mod scored;

pub use self::{
    answer::{Advice, Answer},
    case::{Amount, Case, Fix, Input, Miss, Part, SETS, all_cases},
    grade::{BYTES_BAR, Grade, Known},
    printed::Printed,
    scored::Scored,
};
