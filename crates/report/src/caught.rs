//! Failures that did not stop a program.

/// Requests for memory that failed in a program that ended with status 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaughtFailures {
    /// How many failed.
    pub count: u64,
    /// True if an allocator such as PyTorch's refused them all, with an exception that the program caught. A call of
    /// the driver returns an error, which a program may also ignore.
    pub by_allocator: bool,
}

impl CaughtFailures {
    /// Returns the sentence for people.
    #[must_use]
    pub fn text(self) -> String {
        let requests = match self.count {
            1 => "1 request".to_owned(),
            count => format!("{count} requests"),
        };
        match (self.by_allocator, self.count) {
            (true, 1) => format!("{requests} failed and was caught; the program ended with 0"),
            (true, _) => format!("{requests} failed and were caught; the program ended with 0"),
            (false, _) => format!("{requests} failed; the program went on and ended with 0"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_errors_of_the_driver_are_not_called_caught() {
        let text = |count, by_allocator| CaughtFailures { count, by_allocator }.text();
        assert_eq!(text(1, true), "1 request failed and was caught; the program ended with 0");
        assert_eq!(text(3, true), "3 requests failed and were caught; the program ended with 0");
        assert_eq!(text(2, false), "2 requests failed; the program went on and ended with 0");
    }
}
