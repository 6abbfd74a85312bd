//! What an import found, and what there is to say of it.

/// What an import found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NsysSummary {
    /// Allocations.
    pub allocations: u64,
    /// Calls that returned that memory ran out.
    pub failures: u64,
    /// Those after which the process went on to allocate.
    pub recovered: u64,
    /// Frees of memory that the report does not show being allocated.
    pub unmatched: u64,
    /// Rows of processes or devices beyond the ones that are told apart.
    pub passed_over: u64,
    /// Whether any allocation has a call stack.
    pub stacks: bool,
    /// Whether a log that was not yet written into the file lies beside it.
    pub unfinished: bool,
}

impl NsysSummary {
    /// What is worth saying of it to whoever reads the figures.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.failures > 0 {
            notes.push(
                "the report does not tell how much the call that failed had asked for".to_owned(),
            );
        }
        if self.recovered > 0 {
            notes.push(format!(
                "after {} of {} calls that failed the program went on to allocate: a caching allocator gives its \
                 cache back and asks again",
                self.recovered, self.failures
            ));
        }
        if !self.stacks && self.allocations > 0 {
            notes.push(
                "it has no call stacks of allocations: nsys profile --cudabacktrace=memory records them"
                    .to_owned(),
            );
        }
        if self.unmatched > 0 {
            notes.push(format!(
                "it frees memory that was allocated before it begins ({} times): more was held than it shows",
                self.unmatched
            ));
        }
        if self.passed_over > 0 {
            notes.push(format!(
                "{} events belong to more processes or devices than can be distinguished and were skipped",
                self.passed_over
            ));
        }
        if self.unfinished {
            notes.push(
                "a -wal file next to it has data that is not in the database yet and was not read: export again"
                    .to_owned(),
            );
        }
        notes
    }
}
