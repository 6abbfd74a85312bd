//! `/proc/PID/stat`.

/// What is used of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stat {
    /// The name that the process gives itself.
    pub name: String,
    /// The state of this thread.
    pub state: char,
    /// The parent.
    pub parent: u32,
    /// The process group.
    pub group: u32,
    /// The session.
    pub session: u32,
    /// How many threads it has.
    pub threads: u32,
    /// When it started, in ticks since boot.
    pub started_ticks: u64,
}

impl Stat {
    /// Reads the line. The name stands in brackets and may hold anything, brackets and spaces
    /// included, so fields are counted from the last bracket.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (head, tail) = line.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
        // A group or session outside the namespace is 0, that of a kernel thread may be -1.
        let id = |index| number(index).map(|id| u32::try_from(id).unwrap_or_default());
        Some(Self {
            name: name.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: id(1)?,
            group: id(2)?,
            session: id(3)?,
            threads: id(17)?,
            started_ticks: fields.get(19)?.parse().ok()?,
        })
    }

    /// Whether the thread has ended.
    #[must_use]
    pub fn ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line =
            "42 (a) S (b) D 1 40 39 0 -1 4194304 99 0 0 0 0 0 0 0 20 0 7 0 2740173 3133440 3";
        let stat = Stat::parse(line).expect("a line of the kernel");
        assert_eq!(stat.name, "a) S (b");
        assert_eq!((stat.state, stat.parent, stat.group, stat.session), ('D', 1, 40, 39));
        assert_eq!((stat.threads, stat.started_ticks), (7, 2_740_173));
    }

    #[test]
    fn what_is_cut_short_is_nothing() {
        for line in ["", "1", "1 (", "1 (a", "1 (a)", "1 (a) S", ")(", "1 (a) S 1 1 1 0"] {
            assert_eq!(Stat::parse(line), None, "{line}");
        }
    }
}
