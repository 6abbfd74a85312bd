//! What the tables hold, as rows in the order of time.

use rusqlite::{Row, Rows};
use whyoom_trace::{Address, Bytes, MemoryKind};

use super::{NsysError, database::Database, global_id::GlobalId, marks};

/// The table of allocations and frees.
pub(super) const MEMORY: &str = "CUDA_GPU_MEMORY_USAGE_EVENTS";
/// That of calls.
pub(super) const CALLS: &str = "CUPTI_ACTIVITY_KIND_RUNTIME";
const MARKS: &str = "NVTX_EVENTS";
const STRINGS: &str = "StringIds";

/// `CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION`.
const DEALLOCATION: i64 = 1;
/// `cudaErrorMemoryAllocation` and `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: i64 = 2;

/// An allocation or a free.
#[derive(Debug, Clone, Default)]
pub(super) struct MemoryRow {
    pub(super) time: i64,
    pub(super) process: GlobalId,
    pub(super) device: i64,
    pub(super) context: i64,
    pub(super) address: Address,
    pub(super) bytes: Bytes,
    pub(super) kind: Kind,
    pub(super) frees: bool,
    pub(super) variable: Option<String>,
    pub(super) correlation: Option<i64>,
    pub(super) stream: i64,
    pub(super) pool: Option<PoolRow>,
}

/// What a row tells of the stream-ordered pool that served it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PoolRow {
    pub(super) address: u64,
    pub(super) threshold: Option<Bytes>,
    pub(super) reserved: Option<Bytes>,
    pub(super) used: Option<Bytes>,
}

/// `ENUM_CUDA_MEM_KIND`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Pageable,
    Pinned,
    #[default]
    Device,
    Array,
    Managed,
}

impl Kind {
    fn of(number: i64) -> Self {
        match number {
            0 => Self::Pageable,
            1 => Self::Pinned,
            3 => Self::Array,
            // 6: variables that are declared managed.
            4 | 6 => Self::Managed,
            // 5: variables that are declared on the device; 7: unknown.
            _ => Self::Device,
        }
    }

    /// The interface that it came through; none where it takes nothing of what can run out here.
    pub(super) fn memory_kind(self, of_pool: bool) -> Option<MemoryKind> {
        Some(match self {
            Self::Pageable => return None,
            Self::Pinned => MemoryKind::Pinned,
            Self::Device if of_pool => MemoryKind::StreamOrdered,
            Self::Device => MemoryKind::Device,
            Self::Array => MemoryKind::Array,
            Self::Managed => MemoryKind::Managed,
        })
    }
}

/// A call that returned that memory ran out.
#[derive(Debug, Clone, Default)]
pub(super) struct FailedCall {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) thread: GlobalId,
    pub(super) function: String,
    pub(super) call_chain: Option<i64>,
}

/// An annotation of the program.
#[derive(Debug, Clone, Default)]
pub(super) struct MarkRow {
    pub(super) time: i64,
    pub(super) thread: GlobalId,
    pub(super) name: String,
}

/// Columns without which an allocation tells nothing.
const NEEDED: [&str; 4] = ["start", "address", "bytes", "memoryOperationType"];

/// The query for allocations and frees.
pub(super) fn memory_query(database: &Database) -> Result<String, NsysError> {
    if !database.has(STRINGS) {
        return Err(NsysError::NotAnExport(STRINGS));
    }
    if !database.has(MEMORY) {
        return Err(NsysError::NoMemoryEvents);
    }
    if let Some(column) = NEEDED.into_iter().find(|one| !database.has_columns(MEMORY, &[one])) {
        return Err(NsysError::NoColumn { table: MEMORY, column });
    }
    let columns = [
        "start",
        "globalPid",
        "deviceId",
        "contextId",
        "address",
        "bytes",
        "memKind",
        "memoryOperationType",
        "name",
        "correlationId",
        "streamId",
        "localMemoryPoolAddress",
        "localMemoryPoolReleaseThreshold",
        "localMemoryPoolSize",
        "localMemoryPoolUtilizedSize",
    ];
    let columns = columns.map(|column| database.column(MEMORY, column)).join(", ");
    Ok(format!("SELECT {columns} FROM {MEMORY} ORDER BY start"))
}

impl MemoryRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let number = |index| row.get::<_, Option<i64>>(index).map(Option::unwrap_or_default);
        let bytes = |index| {
            row.get::<_, Option<i64>>(index).map(|told| told.and_then(|told| amount(told).ok()))
        };
        let pool = row.get::<_, Option<i64>>(11)?.filter(|address| *address != 0);
        let pool = pool.map(i64::cast_unsigned).map(|address| {
            let (threshold, reserved, used) = (bytes(12)?, bytes(13)?, bytes(14)?);
            Ok::<_, rusqlite::Error>(PoolRow { address, threshold, reserved, used })
        });
        Ok(Self {
            time: number(0)?,
            process: GlobalId(number(1)?).process(),
            device: number(2)?,
            context: number(3)?,
            address: Address(number(4)?.cast_unsigned()),
            bytes: bytes(5)?.unwrap_or_default(),
            kind: row.get::<_, Option<i64>>(6)?.map(Kind::of).unwrap_or_default(),
            frees: number(7)? == DEALLOCATION,
            variable: row.get::<_, Option<String>>(8)?.filter(|name| !name.is_empty()),
            correlation: row.get::<_, Option<i64>>(9)?.filter(|id| *id != 0),
            stream: number(10)?,
            pool: pool.transpose()?,
        })
    }
}

/// The query for calls that returned that memory ran out; none where calls were not traced.
pub(super) fn failures_query(database: &Database) -> Option<String> {
    let needed = ["start", "end", "globalTid", "nameId", "returnValue"];
    if !database.has_columns(CALLS, &needed) || !database.has_columns(STRINGS, &["id", "value"]) {
        return None;
    }
    let chain = database.column(CALLS, "callchainId");
    // What only tells of an earlier failure is none of its own.
    Some(format!(
        "SELECT start, \"end\", globalTid, value, {chain} FROM {CALLS} LEFT JOIN {STRINGS} ON {STRINGS}.id = nameId \
         WHERE returnValue = {OUT_OF_MEMORY} AND coalesce(value, '') NOT LIKE 'cuda%LastError%' ORDER BY \"end\""
    ))
}

impl FailedCall {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            start: row.get(0)?,
            end: row.get(1)?,
            thread: GlobalId(row.get::<_, Option<i64>>(2)?.unwrap_or_default()),
            function: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
            call_chain: row.get::<_, Option<i64>>(4)?.filter(|id| *id != 0),
        })
    }
}

/// The query for marks and ranges whose names may tell of iterations; none where there were none.
pub(super) fn marks_query(database: &Database) -> Option<String> {
    if !database.has_columns(MARKS, &["start", "eventType", "globalTid"]) {
        return None;
    }
    let (text, id) = (database.column(MARKS, "text"), database.column(MARKS, "textId"));
    let likely = marks::LIKELY.map(|part| format!("told LIKE '%{part}%'")).join(" OR ");
    let kinds = marks::EVENT_TYPES.map(|kind| kind.to_string()).join(", ");
    Some(format!(
        "SELECT start, globalTid, coalesce({text}, value) AS told FROM {MARKS} LEFT JOIN {STRINGS} \
         ON {STRINGS}.id = {id} WHERE eventType IN ({kinds}) AND ({likely}) ORDER BY start"
    ))
}

impl MarkRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            time: row.get(0)?,
            thread: GlobalId(row.get::<_, Option<i64>>(1)?.unwrap_or_default()),
            name: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
        })
    }
}

/// An amount; what is below nothing is none.
pub(super) fn amount(told: i64) -> Result<Bytes, std::num::TryFromIntError> {
    u64::try_from(told).map(Bytes)
}

/// Rows of one table, of which the next can be looked at.
pub(super) struct Peeked<'s, T> {
    rows: Option<Rows<'s>>,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
    next: Option<T>,
}

impl<'s, T> Peeked<'s, T> {
    pub(super) fn new(
        rows: Option<Rows<'s>>,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Self, NsysError> {
        let mut peeked = Self { rows, read, next: None };
        peeked.advance()?;
        Ok(peeked)
    }

    pub(super) fn peek(&self) -> Option<&T> {
        self.next.as_ref()
    }

    /// Takes the row that was looked at.
    pub(super) fn take(&mut self) -> Result<Option<T>, NsysError> {
        let taken = self.next.take();
        self.advance()?;
        Ok(taken)
    }

    fn advance(&mut self) -> Result<(), NsysError> {
        let Some(rows) = &mut self.rows else { return Ok(()) };
        self.next = rows.next()?.map(self.read).transpose()?;
        if self.next.is_none() {
            self.rows = None;
        }
        Ok(())
    }
}
