//! What a program says of itself: lines of JSON on its standard output.

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

    /// The bytes that the cause explains.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.0.get("bytes")?.as_u64()
    }

    /// Whether a remedy was carried out and worked, where the scene tried it.
    pub(super) fn worked(&self) -> Option<bool> {
        let tried = self.0.contains_key("line");
        tried.then(|| self.0.get("worked") == Some(&Value::Bool(true)))
    }

    /// A text in which names in braces stand for what was told.
    pub(super) fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            text.replace(&format!("{{{name}}}"), &value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Truth;

    #[test]
    fn the_last_line_counts_and_fills_names() {
        let truth = Truth::of("hello\n{\"bytes\": 1, \"pid\": 7}\n{\"bytes\": 2}\n{broken\n");
        assert_eq!((truth.bytes(), truth.worked()), (Some(2), None));
        assert_eq!(truth.fill("kill {pid} {other}"), "kill 7 {other}");
        assert_eq!(Truth::of("{\"line\": \"kill 7\"}").worked(), Some(false));
    }
}
