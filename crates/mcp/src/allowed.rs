//! Which programs `fit` may run.

use crate::refusal::Refusal;

/// The beginnings of commands that the person allowed, each as words.
#[derive(Debug)]
pub(crate) struct Allowed(Vec<Vec<String>>);

impl Allowed {
    /// Each text is split at white space; nothing in it is quoted or expanded.
    pub(crate) fn new(beginnings: &[String]) -> Self {
        let words = |text: &String| text.split_whitespace().map(str::to_owned).collect();
        Self(beginnings.iter().map(words).filter(|words: &Vec<String>| !words.is_empty()).collect())
    }

    /// A command whose first words are exactly those of a beginning. What follows them is free.
    pub(crate) fn check(&self, command: &[String]) -> Result<(), Refusal> {
        if command.first().is_none_or(String::is_empty) {
            return Err(Refusal::new("the command is empty: give the program and its arguments"));
        }
        if self.0.iter().any(|beginning| command.starts_with(beginning)) {
            return Ok(());
        }
        let all: Vec<String> =
            self.0.iter().map(|words| format!("'{}'", words.join(" "))).collect();
        let allowed = match all.is_empty() {
            true => "nothing".to_owned(),
            false => format!("only commands that begin with {}", all.join(" or ")),
        };
        Err(Refusal::new(format!(
            "fit runs the command, but this server may run {allowed}. Ask the person to add --allow-run 'FIRST WORDS \
             OF THE COMMAND' to the arguments of whyoom mcp, or to run whyoom fit themselves."
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_first_words_count() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let allowed = Allowed::new(&["python  train.py".to_owned(), " ".to_owned()]);
        for command in ["python train.py", "python train.py --batch 8"] {
            assert!(allowed.check(&words(command)).is_ok(), "{command}");
        }
        for command in [
            "",
            "python",
            "python train.pyx",
            "python -c train.py",
            "/usr/bin/python train.py",
            "sh -c python train.py",
        ] {
            assert!(allowed.check(&words(command)).is_err(), "{command}");
        }
        assert!(allowed.check(&[]).is_err() && allowed.check(&["python train.py".into()]).is_err());
        assert!(Allowed::new(&[]).check(&words("true")).is_err());
        assert!(
            Allowed::new(&[String::new()]).check(&words("true")).is_err(),
            "no words allow none"
        );
    }
}
