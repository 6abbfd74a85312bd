//! What was seen of the machine when an allocation failed: a line of `machine.jsonl` for each failure.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};
use whyoom_files::{folder::Folder, private};
use whyoom_trace::{DeviceId, ProcessState};

use super::device_names::DeviceNames;

/// The file's name in the recording's folder.
pub const MACHINE_SAMPLES: &str = "machine.jsonl";
/// Its name in older recordings.
const OLD_NAME: &str = "looks.jsonl";
/// The names of the file that are read.
pub const MACHINE_SAMPLES_NAMES: [&str; 2] = [MACHINE_SAMPLES, OLD_NAME];
/// Who looks takes a moment; what is seen later than this says nothing of the failure.
const LONGEST_DELAY: u64 = 5_000_000_000;
/// The recorder's clock and the watcher's may differ by this.
const SKEW: u64 = 50_000_000;
/// Lines beyond these are not read, whether they are samples or not: a loop that retries can fail a million times.
const MAX_LINES: usize = 4096;
/// A line is not longer: that is some thousand processes on some devices.
const LONGEST_LINE: u64 = 1 << 20;
/// Bytes of the file that are read. That is 8 KiB on each of 4,096 lines; a sample of eight GPUs with eight
/// processes takes less than 3 KiB. Chosen, not measured.
pub const MAX_MACHINE_SAMPLES_BYTES: u64 = 32 << 20;

/// The machine, seen because an allocation failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineSample {
    /// When it was seen, in nanoseconds since 1970.
    pub time: u64,
    /// The process whose allocation failed.
    pub pid: u32,
    /// The devices, in the driver's order.
    pub devices: Vec<SeenDevice>,
}

/// A device as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeenDevice {
    /// Its number, as the driver counts.
    pub index: u32,
    /// Its identifier, as `CUDA_VISIBLE_DEVICES` may name it.
    pub uuid: String,
    /// The model that it is, where it is one that whyoom knows.
    #[serde(default)]
    pub model: Option<SeenModel>,
    /// What it has.
    pub total: u64,
    /// What was free.
    pub free: u64,
    /// Who held memory of it.
    pub holders: Vec<SeenHolder>,
}

impl SeenDevice {
    /// What a process held of it.
    pub(super) fn bytes_of(&self, pid: u32) -> Option<u64> {
        self.holders.iter().find(|holder| holder.pid == pid).map(|holder| holder.bytes)
    }
}

/// A model of GPU that whyoom knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeenModel {
    /// Its name, as `whyoom lab list` has it.
    pub name: String,
    /// What such a GPU has; one with another amount is simulated.
    pub total: u64,
}

/// A process that held memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeenHolder {
    /// Its number.
    pub pid: u32,
    /// What it held.
    pub bytes: u64,
    /// Its command; empty where nobody can tell.
    pub command: String,
    /// How it stood.
    pub standing: ProcessState,
    /// How long it had run, in seconds, where that is known.
    #[serde(default)]
    pub age: Option<u64>,
    /// When it started, in clock ticks since boot. `None` in a file of an older version, and if it had ended.
    #[serde(default)]
    pub started_ticks: Option<u64>,
}

impl MachineSample {
    /// Appends it to the file of a recording's folder.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&self, folder: &Path) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        private::append_to(&folder.join(MACHINE_SAMPLES))?.write_all(&line)
    }

    /// The device that a process calls by this number. Its UUID tells, where it was recorded. Else its first one
    /// is the only one that lists it, if it is the only one; else the variable tells. A process that asks for its
    /// second may be listed by its first alone.
    pub(super) fn device(&self, device: DeviceId, names: &DeviceNames) -> Option<&SeenDevice> {
        if let Some(uuid) = names.uuids.get(&device) {
            let found = self.devices.iter().find(|device| device.uuid.ends_with(uuid.as_str()));
            if found.is_some() {
                return found;
            }
        }
        let ordinal = device.0;
        let lists = |device: &&SeenDevice| device.holders.iter().any(|one| one.pid == self.pid);
        let mut listing = self.devices.iter().filter(lists);
        if let (0, Some(only), None) = (ordinal, listing.next(), listing.next()) {
            return Some(only);
        }
        let Some(visible) = names.visible.as_deref().filter(|text| !text.is_empty()) else {
            return self.devices.iter().find(|device| device.index == u32::from(ordinal));
        };
        let name = visible.split(',').nth(usize::from(ordinal))?.trim();
        let by_uuid =
            |device: &&SeenDevice| name.starts_with("GPU-") && device.uuid.starts_with(name);
        self.devices
            .iter()
            .find(|device| name.parse() == Ok(device.index))
            .or_else(|| self.devices.iter().find(by_uuid))
    }
}

/// Reads the start times of the holders in a recording's folder, in clock ticks since boot, by process ID. `None` for a
/// holder of which a sample has none, or of which two samples differ: then the ID means several processes.
#[must_use]
pub fn holder_start_ticks(folder: &Folder) -> BTreeMap<u32, Option<u64>> {
    let mut starts: BTreeMap<u32, Option<u64>> = BTreeMap::new();
    let samples = MachineSamples::read(folder);
    let devices = samples.iter().flat_map(|sample| &sample.devices);
    for holder in devices.flat_map(|device| &device.holders) {
        let known = starts.entry(holder.pid).or_insert(holder.started_ticks);
        if *known != holder.started_ticks {
            *known = None;
        }
    }
    starts
}

/// The looks of a recording, by process and then by time: there may be many failures to find one for.
#[derive(Debug, Default)]
pub(super) struct MachineSamples(Vec<MachineSample>);

impl From<Vec<MachineSample>> for MachineSamples {
    fn from(mut machine_samples: Vec<MachineSample>) -> Self {
        machine_samples.sort_by_key(|look| (look.pid, look.time));
        Self(machine_samples)
    }
}

impl MachineSamples {
    /// Reads those of a folder. A line that is no sample, or is cut, is passed over.
    pub(super) fn read(folder: &Folder) -> Self {
        let lines = |name| folder.entry(name).lines(LONGEST_LINE, MAX_MACHINE_SAMPLES_BYTES);
        let Ok(lines) = lines(MACHINE_SAMPLES).or_else(|_| lines(OLD_NAME)) else {
            return Self::default();
        };
        let lines = lines.take(MAX_LINES);
        let samples = lines.filter_map(|line| serde_json::from_slice(&line).ok());
        samples.collect::<Vec<_>>().into()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, MachineSample> {
        self.0.iter()
    }

    /// The first look at a process's failure, as far as it came soon after; where none did, the last one
    /// before it, as far as that may be the clocks' doing.
    pub(super) fn after(&self, pid: u32, failure: u64) -> Option<&MachineSample> {
        let at = self.0.partition_point(|look| (look.pid, look.time) < (pid, failure));
        let own = |look: &&MachineSample| look.pid == pid;
        let soon = |look: &&MachineSample| look.time <= failure.saturating_add(LONGEST_DELAY);
        let just_before = |look: &&MachineSample| look.time >= failure.saturating_sub(SKEW);
        let first = self.0.get(at).filter(own).filter(soon);
        let before = || self.0.get(at.checked_sub(1)?).filter(own).filter(just_before);
        first.or_else(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(index: u32, pids: &[u32]) -> SeenDevice {
        let holder = |&pid| SeenHolder { pid, bytes: 1, ..SeenHolder::default() };
        let uuid = format!("GPU-{index}{index}");
        let holders = pids.iter().map(holder).collect();
        SeenDevice { index, uuid, total: 10, free: 1, holders, ..SeenDevice::default() }
    }

    #[test]
    fn the_device_that_lists_the_process_is_its_device() {
        let mut look = MachineSample {
            pid: 7,
            devices: vec![device(0, &[]), device(1, &[7])],
            ..MachineSample::default()
        };
        let index = |look: &MachineSample, ordinal, visible: Option<&str>| {
            let visible = visible.map(str::to_owned);
            let names = DeviceNames { visible, ..DeviceNames::default() };
            look.device(DeviceId(ordinal), &names).map(|one| one.index)
        };
        assert_eq!(index(&look, 0, None), Some(1));
        assert_eq!(index(&look, 1, Some("1,0")), Some(0));
        look.pid = 8;
        assert_eq!(index(&look, 0, None), Some(0));
        assert_eq!(index(&look, 0, Some("1,0")), Some(1));
        assert_eq!(index(&look, 0, Some("GPU-11")), Some(1));
        assert_eq!(index(&look, 3, Some("1")), None);
    }

    #[test]
    fn a_recorded_uuid_tells_the_device() {
        let look = MachineSample {
            pid: 7,
            devices: vec![device(0, &[7]), device(1, &[])],
            ..MachineSample::default()
        };
        let mut names = DeviceNames::default();
        names.uuids.insert(DeviceId(0), "11".to_owned());
        assert_eq!(look.device(DeviceId(0), &names).map(|one| one.index), Some(1));
        names.uuids.insert(DeviceId(0), "77".to_owned());
        assert_eq!(look.device(DeviceId(0), &names).map(|one| one.index), Some(0), "unknown");
    }

    #[test]
    fn lines_that_are_no_samples_count() {
        let sample = serde_json::to_string(&MachineSample::default()).expect("a line");
        for (bad_lines, read) in [(MAX_LINES - 1, 1), (MAX_LINES, 0)] {
            let folder = tempfile::tempdir().expect("a folder");
            let text = "{}\n".repeat(bad_lines) + &sample + "\n";
            std::fs::write(folder.path().join(MACHINE_SAMPLES), text).expect("it is written");
            assert_eq!(MachineSamples::read(&Folder::from(folder.path())).iter().count(), read);
        }
    }

    #[test]
    fn a_look_belongs_to_the_failure_before_it() {
        let machine_samples = [10_000_000_000, 3_000_000_000].map(|time| MachineSample {
            time,
            pid: 7,
            ..MachineSample::default()
        });
        let machine_samples = MachineSamples::from(machine_samples.to_vec());
        let found = |pid, failure| machine_samples.after(pid, failure).map(|look| look.time);
        assert_eq!(found(7, 2_000_000_000), Some(3_000_000_000));
        assert_eq!(found(7, 4_999_999_999), None);
        assert_eq!(found(7, 9_000_000_000), Some(10_000_000_000));
        assert_eq!(found(8, 2_000_000_000), None);
        // A retry fails a few ms later: what was seen of the first failure is not what was then.
        assert_eq!(found(7, 10_010_000_000), Some(10_000_000_000));
        let machine_samples =
            [10, 20].map(|time| MachineSample { time, pid: 7, ..MachineSample::default() });
        let machine_samples = MachineSamples::from(machine_samples.to_vec());
        assert_eq!(machine_samples.after(7, 15).map(|look| look.time), Some(20));
    }
}
