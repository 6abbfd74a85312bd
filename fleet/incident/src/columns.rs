//! The columns: one line each, in the order of the fields of [`crate::Incident`].

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A moment: `TIMESTAMP`, in microseconds, UTC.
    Time,
    /// A number: `BIGINT`.
    Number,
    /// Yes or no: `BOOLEAN`.
    Flag,
    /// Words: `VARCHAR`.
    Text,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name: the field's.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether every row has a value.
    pub required: bool,
}

const fn always(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, required: true }
}

const fn maybe(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, required: false }
}

/// Every column, in order.
pub const COLUMNS: &[Column] = &[
    always("id", Kind::Text),
    always("time", Kind::Time),
    always("cluster", Kind::Text),
    always("node", Kind::Text),
    always("source", Kind::Text),
    always("file", Kind::Text),
    always("cause", Kind::Text),
    always("strength", Kind::Text),
    always("headline", Kind::Text),
    maybe("call_site", Kind::Text),
    maybe("remedy", Kind::Text),
    maybe("device", Kind::Number),
    maybe("requested_bytes", Kind::Number),
    maybe("capacity_bytes", Kind::Number),
    maybe("free_bytes", Kind::Number),
    maybe("allocated_bytes", Kind::Number),
    maybe("reserved_bytes", Kind::Number),
    maybe("scheduler", Kind::Text),
    maybe("namespace", Kind::Text),
    maybe("workload", Kind::Text),
    maybe("pod", Kind::Text),
    maybe("container", Kind::Text),
    maybe("job", Kind::Text),
    maybe("user", Kind::Text),
    maybe("run_seconds", Kind::Number),
    maybe("gpus", Kind::Number),
    always("has_history", Kind::Flag),
    maybe("served_by", Kind::Text),
    always("version", Kind::Text),
    always("verdict", Kind::Text),
    maybe("who", Kind::Text),
];
