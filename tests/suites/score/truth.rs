//! What a program says of itself: lines of JSON on its standard output.

use anyhow::{Result, bail};
use harness::score::{Amount, Case, Printed};
use serde_json::{Map, Value};

/// What the last lines of each kind tell.
#[derive(Debug, Default)]
pub(super) struct Truth(Map<String, Value>);

impl Truth {
    /// From what was printed; later lines count more.
    pub(super) fn of(stdout: &str) -> Self {
        let lines = stdout.lines().filter(|line| line.starts_with('{'));
        let objects = lines.filter_map(|line| serde_json::from_str::<Map<_, _>>(line).ok());
        Self(objects.flatten().collect())
    }

    /// The bytes that the cause explains, from where the table says that they are known.
    pub(super) fn bytes(&self, case: &Case) -> Result<Option<u64>> {
        let printed = self.0.get("bytes");
        match (case.bytes, printed.and_then(Value::as_u64)) {
            (Amount::Known(bytes), _) => Ok(Some(bytes)),
            (Amount::Printed, Some(bytes)) if bytes > 0 => Ok(Some(bytes)),
            (Amount::Printed, _) => {
                bail!("it printed no bytes, and its table says so: {printed:?}")
            }
            (Amount::None, Some(bytes)) if bytes > 0 => {
                bail!("it printed {bytes} bytes, and its table says none")
            }
            (Amount::None, _) => Ok(None),
        }
    }

    /// What came of the line that a scene carried out.
    pub(super) fn printed(&self) -> Printed {
        let Some(line) = self.0.get("line").and_then(Value::as_str) else { return Printed::None };
        let line = line.to_owned();
        match self.0.get("worked") {
            Some(Value::Bool(true)) => Printed::Worked { line },
            _ => Printed::Failed { line, how: "the job failed again".to_owned() },
        }
    }

    /// Texts in which names in braces stand for what was told.
    pub(super) fn fill(&self, texts: &[String]) -> Vec<String> {
        let fill = |text: &String| {
            self.0.iter().fold(text.clone(), |text, (name, value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text.replace(&format!("{{{name}}}"), &value)
            })
        };
        texts.iter().map(fill).collect()
    }
}
