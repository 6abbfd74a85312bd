//! The call stacks of allocations, where the report has them (`nsys profile --cudabacktrace=memory`).

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use whyoom_trace::{FrameId, StackId, Tables};

use super::{
    NsysError,
    database::Database,
    global_id::GlobalId,
    rows::{CALLS, MEMORY},
};

const CHAINS: &str = "CUDA_CALLCHAINS";
/// Frames beyond these tell nothing new.
const DEEPEST: usize = 256;

type ByKey<K, V> = HashMap<K, V, RandomState>;

/// Stacks by what names them.
#[derive(Default)]
pub(super) struct Stacks {
    /// The call chain of each call that allocated, by its process and correlation.
    chains: ByKey<(GlobalId, i64), i64>,
    stacks: ByKey<i64, StackId>,
    variables: ByKey<String, StackId>,
}

impl Stacks {
    /// Reads the chains that allocations, and calls that failed, name.
    pub(super) fn read(database: &Database, tables: &mut Tables) -> Result<Self, NsysError> {
        let mut stacks = Self::default();
        let of_calls = ["globalTid", "correlationId", "callchainId", "returnValue"];
        let of_chains = ["id", "symbol", "stackDepth"];
        let known = database.has_columns(CALLS, &of_calls)
            && database.has_columns(CHAINS, &of_chains)
            && database.has_columns(MEMORY, &["correlationId"]);
        if known {
            let failed = stacks.read_chains(database)?;
            stacks.read_frames(database, &failed, tables)?;
        }
        Ok(stacks)
    }

    /// The stack of a call, by its correlation.
    pub(super) fn of_call(&self, process: GlobalId, correlation: i64) -> StackId {
        let chain = self.chains.get(&(process, correlation));
        chain.map_or(StackId(0), |&chain| self.of_chain(chain))
    }

    pub(super) fn of_chain(&self, chain: i64) -> StackId {
        self.stacks.get(&chain).copied().unwrap_or_default()
    }

    /// What stands for the stack of a variable that lies on the device: its name.
    pub(super) fn of_variable(&mut self, name: &str, tables: &mut Tables) -> StackId {
        if let Some(stack) = self.variables.get(name) {
            return *stack;
        }
        let frame = tables.frame_text(&format!("variable {name}"), "", 0);
        let stack = tables.stack(&[frame]);
        self.variables.insert(name.to_owned(), stack);
        stack
    }

    fn read_chains(&mut self, database: &Database) -> Result<HashSet<i64, RandomState>, NsysError> {
        // Of all calls only those that an allocation names, or that failed: launches are far more.
        let mut query = database.connection.prepare(&format!(
            "SELECT globalTid, correlationId, callchainId, returnValue FROM {CALLS} WHERE callchainId > 0 AND \
             (returnValue = 2 OR correlationId IN (SELECT correlationId FROM {MEMORY}))"
        ))?;
        let mut rows = query.query([])?;
        let mut wanted = HashSet::default();
        while let Some(row) = rows.next()? {
            let process = GlobalId(row.get::<_, Option<i64>>(0)?.unwrap_or_default()).process();
            let (correlation, chain) = (row.get::<_, Option<i64>>(1)?, row.get(2)?);
            wanted.insert(chain);
            if let Some(correlation) = correlation {
                self.chains.insert((process, correlation), chain);
            }
        }
        Ok(wanted)
    }

    fn read_frames(
        &mut self,
        database: &Database,
        wanted: &HashSet<i64, RandomState>,
        tables: &mut Tables,
    ) -> Result<(), NsysError> {
        let module = match database.has_columns(CHAINS, &["module"]) {
            true => "(SELECT value FROM StringIds WHERE id = module)",
            false => "NULL",
        };
        let mut query = database.connection.prepare(&format!(
            "SELECT id, (SELECT value FROM StringIds WHERE id = symbol), {module} FROM {CHAINS} \
             ORDER BY id, stackDepth"
        ))?;
        let mut rows = query.query([])?;
        let mut open: Option<(i64, Vec<FrameId>)> = None;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            if open.as_ref().is_some_and(|(chain, _)| *chain != id) {
                self.close(open.take(), tables);
            }
            if !wanted.contains(&id) {
                continue;
            }
            let symbol = row.get::<_, Option<String>>(1)?.unwrap_or_default();
            let module = row.get::<_, Option<String>>(2)?.unwrap_or_default();
            let (_, frames) = open.get_or_insert_with(|| (id, Vec::new()));
            if frames.len() < DEEPEST {
                frames.push(tables.frame_text(&symbol, &module, 0));
            }
        }
        self.close(open, tables);
        Ok(())
    }

    fn close(&mut self, open: Option<(i64, Vec<FrameId>)>, tables: &mut Tables) {
        if let Some((chain, frames)) = open {
            self.stacks.insert(chain, tables.stack(&frames));
        }
    }
}
