//! A name in a Python program under which tensors are kept.

use whyoom_memory::is_library_file;
use whyoom_trace::{Address, Bytes};

use crate::quotation_marks::{within_quotes, word_or_quoted};

/// A name in a Python program under which tensors were kept when it was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Referrer {
    /// The process, by its number.
    pub pid: u32,
    /// What the name stands for: a `variable`, an `attribute`, a `list`, `dict` or other container, or a
    /// `traceback`, whose frames keep their variables.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The function that it is a variable of; nothing for a module's.
    pub function: Option<String>,
    /// The file of that function or module.
    pub file: Option<String>,
    /// The line at which the function was.
    pub line: Option<u32>,
    /// Whether the tensors are what the graphs behind the kept ones save for backward.
    pub graph: bool,
    /// The blocks: where each lies, and its size.
    pub blocks: Vec<(Address, Bytes)>,
}

/// What a way of keeping calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RetentionKind {
    /// A running sum, or another single variable.
    Variable,
    /// A list or another container.
    Container,
    /// Exceptions that are kept.
    Exceptions,
}

impl Referrer {
    /// Returns true if the name is one in a library's code, and not in the program's.
    pub(crate) fn is_of_library(&self) -> bool {
        self.file.as_deref().is_some_and(is_library_file)
    }

    pub(crate) fn way(&self) -> RetentionKind {
        match self.kind.as_str() {
            "traceback" => RetentionKind::Exceptions,
            "variable" | "attribute" => RetentionKind::Variable,
            _ => RetentionKind::Container,
        }
    }

    /// How a person would say it: `kept by the list "outputs" of main (train.py:12)`.
    #[must_use]
    pub fn describe(&self) -> String {
        let file = self.file.as_deref().map(|file| file.rsplit(['/', '\\']).next().unwrap_or(file));
        let call_site = match (file, self.line) {
            (Some(file), Some(line)) => format!(" ({file}:{line})"),
            (Some(file), None) => format!(" ({file})"),
            _ => String::new(),
        };
        let function = self
            .function
            .as_deref()
            .map_or(String::new(), |name| format!(" of {}", word_or_quoted(name)));
        let (kind, name) = (word_or_quoted(&self.kind), within_quotes(&self.name));
        let graph = if self.graph { "the graph behind " } else { "" };
        match self.way() {
            RetentionKind::Exceptions => {
                let frames =
                    if self.graph { "the graph behind variables" } else { "the variables" };
                format!("kept by exceptions in \"{name}\": {frames}{function}{call_site}")
            }
            RetentionKind::Variable | RetentionKind::Container => {
                format!("kept by {graph}the {kind} \"{name}\"{function}{call_site}")
            }
        }
    }
}
