//! The parameters of a search: the first is searched, for values of the others.

use anyhow::{Result, bail};
use whyoom_fit::Range;

use super::{program::Program, variation::Variation};
use crate::misuse::Misuse;

/// Rows where the person names no values; each takes two runs or more.
const CHOSEN_ROWS: u64 = 8;
/// Rows that a person may ask for.
const MOST_ROWS: usize = 64;

/// What is varied.
#[derive(Debug)]
pub(crate) struct Parameters<'a> {
    /// What is searched.
    pub(super) name: &'a str,
    pub(super) range: &'a Range,
    /// The others.
    pub(super) by: Vec<&'a str>,
    /// Every combination of their values that is looked at; without others an empty one.
    pub(super) rows: Vec<Vec<u64>>,
}

impl<'a> Parameters<'a> {
    /// Those of a command: nothing without any. Each must be in the command, and once in the list.
    pub(crate) fn of(variations: &'a [Variation], program: &Program) -> Result<Option<Self>> {
        for (index, variation) in variations.iter().enumerate() {
            let mark = variation.mark();
            if !program.contains(&mark) {
                bail!(Misuse(format!(
                    "the command does not contain {mark}: whyoom fit … -- python train.py --{} {mark}",
                    variation.name
                )));
            }
            if variations[..index].iter().any(|other| other.name == variation.name) {
                bail!(Misuse(format!(
                    "--vary {} is given twice: name another parameter",
                    variation.name
                )));
            }
        }
        let Some((first, others)) = variations.split_first() else { return Ok(None) };
        let rows = rows(others)?;
        let by = others.iter().map(|other| other.name.as_str()).collect();
        Ok(Some(Self { name: &first.name, range: &first.range, by, rows }))
    }

    /// The command with these values.
    pub(super) fn set(&self, program: &Program, row: usize, value: u64) -> Program {
        let others = self.by.iter().zip(&self.rows[row]);
        let program = program.with(self.name, value);
        others.fold(program, |program, (name, value)| program.with(name, *value))
    }
}

/// Every combination of values: those that were listed, and some of a range.
fn rows(others: &[Variation]) -> Result<Vec<Vec<u64>>> {
    let each = (2..=CHOSEN_ROWS)
        .rev()
        .find(|each| each.checked_pow(others.len() as u32).is_some_and(|rows| rows <= CHOSEN_ROWS));
    let mut rows = vec![Vec::new()];
    for other in others {
        let values = other.range.chosen(each.unwrap_or(2));
        let count = rows.len() * values.len();
        if count > MOST_ROWS {
            bail!(Misuse(format!(
                "--vary {} makes {count} combinations, and at most {MOST_ROWS} are run: name fewer values",
                other.name
            )));
        }
        let longer = |row: &Vec<u64>| {
            let row = row.clone();
            values.iter().map(move |value| [&row[..], &[*value]].concat()).collect::<Vec<_>>()
        };
        rows = rows.iter().flat_map(longer).collect();
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Vec<Variation> {
        texts.iter().map(|text| text.parse().expect("a variation")).collect()
    }

    #[test]
    fn rows_are_few_unless_they_are_named() {
        let count = |texts: &[&str]| rows(&read(texts)).map(|rows| rows.len()).ok();
        assert_eq!(count(&[]), Some(1));
        assert_eq!(count(&["seq=1..4096"]), Some(8));
        assert_eq!(count(&["seq=1..4096", "layers=1..48"]), Some(4));
        assert_eq!(count(&["seq=1,2,3,4,5,6,7,8,9"]), Some(9));
        assert_eq!(count(&["a=1..9", "b=1..9", "c=1..9", "d=1..9", "e=1..9", "f=1..9"]), Some(64));
        assert_eq!(count(&["a=1,2,3,4,5,6,7,8,9", "b=1,2,3,4,5,6,7,8,9"]), None);
    }

    #[test]
    fn every_parameter_is_in_the_command_once() {
        let words = ["train", "--batch={batch}", "{seq}", "{batch}"].map(Into::into);
        let program = Program::new(&words).expect("words");
        let both = read(&["batch=1..9", "seq=7,5"]);
        let parameters = Parameters::of(&both, &program).expect("both are there").expect("some");
        assert_eq!(parameters.rows, [[5], [7]]);
        assert_eq!(parameters.set(&program, 1, 3).text(), "train --batch=3 7 3");
        assert!(Parameters::of(&read(&["batch=1..9", "layers=2"]), &program).is_err());
        assert!(Parameters::of(&read(&["seq=1..9", "seq=2"]), &program).is_err());
        assert!(Parameters::of(&[], &program).is_ok_and(|none| none.is_none()));
    }
}
