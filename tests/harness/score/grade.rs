//! How right an answer was.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    answer::Answer,
    case::{Case, Part},
    printed::Printed,
};

/// The bytes may be so far off.
pub const BYTES_BAR: f64 = 0.05;

/// What was not right, and how far the bytes were off.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grade {
    /// In words, by what they are of.
    pub faults: BTreeMap<Part, Vec<String>>,
    /// As a share of the truth, where it is known and the cause is right.
    pub bytes_off: Option<f64>,
}

/// What is known of a case beside its table.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// What the cause explains.
    pub bytes: Option<u64>,
    /// What must and must not be advised, with its names filled in.
    pub remedy: &'a [String],
    /// Likewise.
    pub never: &'a [String],
}

impl Grade {
    /// Of one answer, and of what came of the line that it printed.
    #[must_use]
    pub fn of(case: &Case, known: Known<'_>, answer: &Answer, printed: &Printed) -> Self {
        let mut grade = Self::default();
        let mentioned = |text: &&String| answer.all_advice().any(|one| one.mentions(text));
        for text in known.never.iter().filter(mentioned) {
            grade.add(Part::Advice, format!("wrongly advised: {text}"));
        }
        for line in applied_already(case, answer) {
            grade.add(Part::Advice, format!("advised, and in force already: {line}"));
        }
        // What another cause would give back, or advise, is no measure of this one.
        if answer.cause == case.cause {
            grade.of_right_cause(case, known, answer, printed);
        } else {
            let said = format!("it is {}; said was: {}", case.cause, answer.headline);
            grade.add(Part::Cause, said);
        }
        grade
    }

    fn of_right_cause(
        &mut self,
        case: &Case,
        known: Known<'_>,
        answer: &Answer,
        printed: &Printed,
    ) {
        self.bytes_off = known.bytes.map(|expected| off(expected, answer.bytes));
        if let Some(off) = self.bytes_off.filter(|off| *off > BYTES_BAR) {
            let named = answer.bytes.map_or("none".to_owned(), |bytes| bytes.to_string());
            self.add(Part::Bytes, format!("{:.1} % off: {named} were named", off * 100.0));
        }
        for text in known.remedy {
            if !answer.remedies.iter().any(|advice| advice.says(text)) {
                self.add(Part::Advice, format!("not advised: {text}"));
            }
        }
        for also in case.also.iter().filter(|also| !answer.also.contains(also)) {
            self.add(Part::Also, format!("not said to be true too: {also}"));
        }
        match printed {
            Printed::Failed { line, how } => {
                self.add(Part::Remedy, format!("{line} did not help: {how}"));
            }
            Printed::None if case.applied => {
                self.add(Part::Remedy, "no line that a machine can apply is printed".to_owned());
            }
            Printed::None | Printed::Worked { .. } => {}
        }
    }

    fn add(&mut self, part: Part, fault: String) {
        self.faults.entry(part).or_default().push(fault);
    }

    /// Whether the primary cause is the true one.
    #[must_use]
    pub fn cause_is_right(&self) -> bool {
        !self.faults.contains_key(&Part::Cause)
    }

    /// What makes the case fail: faults that its table does not name, and faults that it names and that are
    /// no longer there.
    #[must_use]
    pub fn unexpected(&self, case: &Case) -> Vec<String> {
        let marked = |part: &Part| case.miss.as_ref().is_some_and(|miss| miss.of.contains(part));
        let unmarked = self.faults.iter().filter(|(part, _)| !marked(part));
        let mut lines: Vec<String> = unmarked
            .flat_map(|(part, faults)| faults.iter().map(move |fault| format!("{part}: {fault}")))
            .collect();
        let marks = case.miss.iter().flat_map(|miss| &miss.of);
        let met = marks.filter(|part| !self.faults.contains_key(part));
        lines.extend(met.map(|part| format!("{part}: now right: remove the mark")));
        lines
    }
}

/// How far the bytes are off; all of the way where none were named.
fn off(expected: u64, named: Option<u64>) -> f64 {
    let named = named.unwrap_or(0);
    named.abs_diff(expected) as f64 / expected as f64
}

/// Settings that are advised though the program had them.
fn applied_already<'a>(case: &'a Case, answer: &'a Answer) -> impl Iterator<Item = &'a str> {
    let lines = answer.all_advice().filter_map(|advice| advice.paste.as_deref());
    lines.filter(|line| {
        let setting = line.strip_prefix("export ").map(|rest| rest.trim_matches('\''));
        let setting = setting.and_then(|setting| setting.split_once('='));
        setting.is_some_and(|(name, value)| case.environment.get(name).is_some_and(|v| v == value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::answer::Advice;

    fn case(more: &str) -> Case {
        let text = format!(
            "name = 'a'\nfrom = 'made'\nstory = 's'\ncause = 'growth'\nbytes = 1000\n\
             program = 'a.py'\nremedy = ['loss.item()']\nnever = ['reboot']\n{more}"
        );
        toml::from_str(&text).unwrap()
    }

    fn answer() -> Answer {
        let advice = Advice { what: "add loss.item()".to_owned(), paste: None, example: None };
        Answer {
            cause: "growth".to_owned(),
            also: Vec::new(),
            headline: "it grows".to_owned(),
            bytes: Some(1040),
            remedies: vec![advice],
            other_remedies: Vec::new(),
        }
    }

    fn unexpected(case: &Case, answer: &Answer, printed: &Printed) -> Vec<String> {
        let known = Known { bytes: Some(1000), remedy: &case.remedy, never: &case.never };
        Grade::of(case, known, answer, printed).unexpected(case)
    }

    #[test]
    fn an_answer_that_is_right_has_no_fault() {
        assert_eq!(unexpected(&case(""), &answer(), &Printed::None), [""; 0]);
    }

    #[test]
    fn each_part_can_fail_alone() {
        let right = answer();
        let advised = |what: &str| Advice { what: what.to_owned(), paste: None, example: None };
        let wrong = [
            ("cause", Answer { cause: "unknown".into(), ..right.clone() }),
            ("bytes", Answer { bytes: Some(900), ..right.clone() }),
            ("bytes", Answer { bytes: None, ..right.clone() }),
            ("advice", Answer { remedies: vec![advised("wait")], ..right.clone() }),
            ("advice", Answer { other_remedies: vec![advised("reboot it")], ..right.clone() }),
        ];
        for (part, answer) in wrong {
            let faults = unexpected(&case(""), &answer, &Printed::None);
            assert!(faults.len() == 1 && faults[0].starts_with(part), "{part}: {faults:?}");
        }
        let faults = unexpected(&case("also = ['rounding']"), &right, &Printed::None);
        assert!(faults.len() == 1 && faults[0].starts_with("also"), "{faults:?}");
    }

    #[test]
    fn a_printed_line_must_work_and_must_be_there() {
        let failed = Printed::Failed { line: "export A=1".into(), how: "growth".into() };
        assert_eq!(unexpected(&case(""), &answer(), &failed).len(), 1);
        assert_eq!(unexpected(&case("applied = true"), &answer(), &Printed::None).len(), 1);
        let worked = Printed::Worked { line: "export A=1".into() };
        assert!(unexpected(&case("applied = true"), &answer(), &worked).is_empty());
    }

    #[test]
    fn a_mark_excuses_what_it_names_and_nothing_else() {
        let marked = case("miss = { of = ['bytes'], why = 'not told' }");
        let off = Answer { bytes: Some(1), ..answer() };
        assert!(unexpected(&marked, &off, &Printed::None).is_empty());
        let wrong = Answer { cause: "unknown".into(), ..off };
        assert_eq!(unexpected(&marked, &wrong, &Printed::None).len(), 2);
        assert!(unexpected(&marked, &answer(), &Printed::None)[0].contains("remove the mark"));
    }

    #[test]
    fn a_setting_in_force_is_no_advice() {
        let case = case("environment = { A = '1' }");
        let mut answer = answer();
        answer.remedies[0].paste = Some("export A=1".to_owned());
        assert_eq!(unexpected(&case, &answer, &Printed::None).len(), 1);
    }
}
