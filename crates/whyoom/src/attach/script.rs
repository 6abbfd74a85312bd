//! What runs in the process: a few lines in the thread that the interpreter chose, and the rest in one of its own.

use serde_json::json;

/// Starts the thread.
const START: &str = include_str!("start.py");
/// The answer, and what the next part has from elsewhere otherwise.
const PRELUDE: &str = include_str!("prelude.py");
/// How referrers are found, the same as in `whyoom run --keepers`.
const REFERRERS: &str = include_str!("../run/keepers.py");
/// What is done with it here.
const LOOK: &str = include_str!("look.py");

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// The number of the process, as seen from here.
    pub(super) pid: u32,
    /// Whether what refers to tensors is looked for.
    pub(super) referrers: bool,
    /// How many entries of history are kept; nothing without a history.
    pub(super) history: Option<u32>,
}

/// The file that the interpreter runs. `folder` is a path in the process.
pub(super) fn start(folder: &str) -> String {
    format!("FOLDER = {}\n{START}", literal(folder))
}

/// The file that the thread runs.
pub(super) fn look(folder: &str, settings: Settings) -> String {
    let Settings { pid, referrers, history } = settings;
    let settings = format!(
        "FOLDER, PID, REFERRERS, HISTORY = {}, {pid}, {}, {}\n",
        literal(folder),
        u8::from(referrers),
        history.unwrap_or(0)
    );
    [PRELUDE, REFERRERS, &settings, LOOK].join("\n")
}

/// A text as Python writes it: JSON's escapes are Python's too.
fn literal(text: &str) -> String {
    json!(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_never_code() {
        let text = start("/tmp/a\"\nimport os");
        assert!(text.starts_with("FOLDER = \"/tmp/a\\\"\\nimport os\"\n"), "{text}");
    }

    #[test]
    fn settings_stand_behind_what_would_set_them_otherwise() {
        let settings = Settings { pid: 7, referrers: true, history: None };
        let text = look("/tmp/x", settings);
        let own = text.find("FOLDER, PID, REFERRERS, HISTORY = \"/tmp/x\", 7, 1, 0");
        assert!(own > text.find("FOLDER = os.environ"), "{text}");
    }
}
