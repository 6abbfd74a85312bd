//! What the report tells of the machine: when it was made, its processes, its GPUs.

use std::collections::{BTreeMap, BTreeSet};

use whyoom_trace::{Bytes, DeviceId, Time};

use super::{NsysError, database::Database, global_id::GlobalId, rows::amount};

/// More processes than anybody profiles at once.
const MOST_PROCESSES: usize = 1024;

/// What the report tells of the machine.
#[derive(Default)]
pub(super) struct Machine {
    /// When the report begins, in nanoseconds since the epoch; 0 where it does not tell.
    began: u64,
    names: BTreeMap<GlobalId, String>,
    /// What each GPU has, by its number there.
    totals: BTreeMap<i64, Bytes>,
    /// A process's number of a GPU, and the GPU's.
    ordinals: BTreeMap<(u32, i64), i64>,
}

impl Machine {
    pub(super) fn read(database: &Database) -> Result<Self, NsysError> {
        let mut machine = Self::default();
        machine.read_start(database)?;
        machine.read_names(database)?;
        machine.read_gpus(database)?;
        Ok(machine)
    }

    /// A time of the report as one of the world.
    pub(super) fn time(&self, told: i64) -> Time {
        Time(self.began.saturating_add(u64::try_from(told).unwrap_or_default()))
    }

    /// A process as people know it.
    pub(super) fn process_name(&self, process: GlobalId) -> String {
        let pid = process.pid();
        match self.names.get(&process) {
            Some(name) => format!("{name} (PID {pid})"),
            None => format!("PID {pid}"),
        }
    }

    /// What a process's device has in all.
    pub(super) fn total(&self, process: GlobalId, device: DeviceId) -> Option<Bytes> {
        let device = i64::from(device.0);
        let gpu = self.ordinals.get(&(process.pid(), device)).copied().unwrap_or(device);
        self.totals.get(&gpu).copied().filter(|total| *total > Bytes::ZERO)
    }

    /// The only GPU of the machine.
    pub(super) fn only_gpu(&self) -> Option<DeviceId> {
        let numbers: BTreeSet<_> = self.totals.keys().collect();
        (numbers.len() == 1).then_some(DeviceId(0))
    }

    fn read_start(&mut self, database: &Database) -> Result<(), NsysError> {
        const TABLE: &str = "TARGET_INFO_SESSION_START_TIME";
        if database.has_columns(TABLE, &["utcEpochNs"]) {
            let query = format!("SELECT max(utcEpochNs) FROM {TABLE}");
            let began: Option<i64> = database.connection.query_row(&query, [], |row| row.get(0))?;
            self.began = began.and_then(|began| began.try_into().ok()).unwrap_or_default();
        }
        Ok(())
    }

    fn read_names(&mut self, database: &Database) -> Result<(), NsysError> {
        const TABLE: &str = "PROCESSES";
        if !database.has_columns(TABLE, &["globalPid", "name"]) {
            return Ok(());
        }
        let query = format!("SELECT globalPid, name FROM {TABLE} LIMIT {MOST_PROCESSES}");
        let mut query = database.connection.prepare(&query)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let id = GlobalId(row.get::<_, Option<i64>>(0)?.unwrap_or_default()).process();
            let name = row.get::<_, Option<String>>(1)?.filter(|name| !name.is_empty());
            self.names.extend(name.map(|name| (id, name)));
        }
        Ok(())
    }

    fn read_gpus(&mut self, database: &Database) -> Result<(), NsysError> {
        const GPUS: &str = "TARGET_INFO_GPU";
        const DEVICES: &str = "TARGET_INFO_CUDA_DEVICE";
        if database.has_columns(GPUS, &["id", "totalMemory"]) {
            let query = format!("SELECT id, totalMemory FROM {GPUS} LIMIT {MOST_PROCESSES}");
            let mut query = database.connection.prepare(&query)?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let total = row.get::<_, Option<i64>>(1)?.unwrap_or_default();
                self.totals.insert(row.get(0)?, amount(total).unwrap_or_default());
            }
        }
        if database.has_columns(DEVICES, &["gpuId", "cudaId", "pid"]) {
            let query = format!("SELECT pid, cudaId, gpuId FROM {DEVICES} LIMIT {MOST_PROCESSES}");
            let mut query = database.connection.prepare(&query)?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                self.ordinals.insert((row.get(0)?, row.get(1)?), row.get(2)?);
            }
        }
        Ok(())
    }
}
