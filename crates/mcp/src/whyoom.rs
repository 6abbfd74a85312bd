//! whyoom itself, asked as a process with limits.

use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::Value;
use whyoom_bounded::{Input, Limits, Printed, Stop};
use whyoom_redact::visible_lines;

use crate::{folders::Opened, given_names, refusal::Refusal, room::cut};

/// More is no answer.
const LONGEST_DOCUMENT: u64 = 16 << 20;
/// Memory for what reads files.
const MEMORY: u64 = 4 << 30;
/// So much of the end of what it said is passed on where it fails.
const LONGEST_COMPLAINT: usize = 1500;

/// The variable by which a whyoom that answers knows the process ID of the server: it ends with it.
pub const PARENT_VARIABLE: &str = "WHYOOM_ENDS_WITH";

/// What is asked: a command of whyoom that prints JSON.
#[derive(Debug)]
pub(crate) struct Question {
    /// The command and its arguments.
    pub(crate) arguments: Vec<String>,
    /// What is read; open until it has answered.
    pub(crate) files: Vec<Opened>,
    /// A text for its standard input.
    pub(crate) text: Option<String>,
    /// Where it runs.
    pub(crate) folder: PathBuf,
    /// It answers within this.
    pub(crate) time: Duration,
    /// Whether it runs a program: that needs addresses as it likes, and time to end.
    pub(crate) runs_program: bool,
    /// The exit statuses with an answer.
    pub(crate) answered: &'static [i32],
}

/// The program that is asked.
#[derive(Debug)]
pub(crate) struct Whyoom(pub(crate) PathBuf);

impl Whyoom {
    /// The document that it prints.
    pub(crate) fn ask(&self, question: Question, stop: &Stop) -> Result<Value, Refusal> {
        let limits = Limits {
            time: question.time,
            memory: (!question.runs_program).then_some(MEMORY),
            output: LONGEST_DOCUMENT,
            in_background: false,
            grace: Duration::from_secs(if question.runs_program { 10 } else { 0 }),
        };
        let mut command = Command::new(&self.0);
        command.args(&question.arguments).current_dir(&question.folder);
        command.env(PARENT_VARIABLE, std::process::id().to_string());
        let input = question.text.map_or(Input::Nothing, Input::Text);
        let name = question.arguments.first().map_or("", String::as_str);
        let printed = whyoom_bounded::run(&mut command, input, &limits, stop)
            .map_err(|error| unanswered(name, &error, question.time, &self.0))?;
        let is_answer = |status| question.answered.contains(&status);
        if !printed.status.code().is_some_and(is_answer) {
            return Err(complaint(name, &printed, &question.files));
        }
        let text = String::from_utf8_lossy(&printed.stdout);
        let document = serde_json::from_str(&text).map_err(|error| {
            Refusal::new(format!("whyoom {name} printed no whole answer ({error}): ask for less"))
        })?;
        Ok(given_names::in_document(document, &question.files))
    }
}

fn unanswered(name: &str, error: &io::Error, time: Duration, whyoom: &Path) -> Refusal {
    Refusal::new(match error.kind() {
        io::ErrorKind::TimedOut => format!(
            "whyoom {name} took longer than {} s and was ended: run it in a terminal, where it has no limit",
            time.as_secs()
        ),
        io::ErrorKind::Interrupted => format!("whyoom {name} was cancelled"),
        _ => format!("{} cannot be run: {error}; install whyoom again", whyoom.display()),
    })
}

/// What it said, which is meant for people and says what to do.
fn complaint(name: &str, printed: &Printed, files: &[Opened]) -> Refusal {
    let said = given_names::in_text(&String::from_utf8_lossy(&printed.stderr), files);
    let said = said.trim().trim_start_matches("whyoom: ");
    if said.is_empty() || printed.status.code().is_none() {
        return Refusal::new(format!(
            "whyoom {name} ended with {} ({} of memory is the limit): run it in a terminal",
            printed.status,
            whyoom_trace::Bytes(MEMORY)
        ));
    }
    let from = said.ceil_char_boundary(said.len().saturating_sub(LONGEST_COMPLAINT));
    Refusal::new(cut(&visible_lines(&said[from..]), LONGEST_COMPLAINT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(script: &str, milliseconds: u64) -> Result<Value, Refusal> {
        let question = Question {
            arguments: vec!["-c".to_owned(), script.to_owned()],
            files: Vec::new(),
            text: Some("text".to_owned()),
            folder: std::env::temp_dir(),
            time: Duration::from_millis(milliseconds),
            runs_program: false,
            answered: &[0, 3],
        };
        Whyoom(PathBuf::from("sh")).ask(question, &Stop::default())
    }

    #[test]
    fn a_document_is_an_answer_whatever_it_says() {
        assert_eq!(ask("echo 7", 5000).unwrap(), 7);
        assert_eq!(ask("echo 7; exit 3", 5000).unwrap(), 7);
        assert_eq!(ask("printf '\"'; cat; printf '\"'", 5000).unwrap(), "text");
    }

    #[test]
    fn no_document_is_none() {
        let told = |script: &str| ask(script, 5000).unwrap_err().to_string();
        assert!(told("echo '{'").contains("no whole answer"));
        assert_eq!(told("echo 'whyoom: no; try this' >&2; exit 1"), "no; try this");
        assert!(told("kill -ABRT $$").contains("signal: 6"));
        let long = told("i=0; while [ $i -lt 2000 ]; do echo line$i >&2; i=$((i+1)); done; exit 1");
        assert!(long.len() <= LONGEST_COMPLAINT && long.ends_with("line1999"), "{long}");
        assert!(ask("sleep 60", 100).unwrap_err().to_string().contains("took longer"));
    }
}
