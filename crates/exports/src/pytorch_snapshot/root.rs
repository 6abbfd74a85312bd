//! The file as a whole: settings, the state at the end, the histories, the marks.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use whyoom_memory::{LayerKind, Model, Space};
use whyoom_trace::{DeviceId, ProcessId, Time};

use super::{
    history::{Histories, microseconds},
    pickler::Pickler,
    spool::{Entry, EntryAction},
    state::segments_of,
};
use crate::error::ExportError;

/// More devices than any machine has; whoever reads the file stops here too.
const MOST_DEVICES: u16 = 1024;

/// A mark of the program.
pub(super) struct Annotation {
    pub(super) device: DeviceId,
    pub(super) time: Time,
    pub(super) name: String,
}

/// What the file is made of.
pub(super) struct Root<'a> {
    pub(super) process: ProcessId,
    pub(super) model: &'a Model,
    pub(super) settings: BTreeMap<String, String>,
    pub(super) annotations: Vec<Annotation>,
}

impl Root<'_> {
    pub(super) fn write(
        &self,
        histories: &mut Histories,
        pickler: &mut Pickler<'_>,
    ) -> Result<(), ExportError> {
        pickler.begin()?;
        let mut result = Ok(());
        pickler.dict(|pickler| {
            pickler.text("segments")?;
            self.segments(|device| device != DeviceId::HOST, pickler)?;
            result = self.histories(histories, pickler);
            pickler.text("allocator_settings")?;
            self.settings(pickler)?;
            pickler.text("external_annotations")?;
            self.annotations(pickler)
        })?;
        result
    }

    /// The devices that the process has memory on, the host last.
    fn devices(&self) -> BTreeSet<DeviceId> {
        let own = self.model.spaces().filter(|(process, ..)| *process == self.process);
        let test_trace = |device: &DeviceId| *device == DeviceId::HOST || device.0 < MOST_DEVICES;
        own.map(|(_, device, _)| device).filter(test_trace).collect()
    }

    fn layer(&self, device: DeviceId) -> LayerKind {
        let space = self.model.space(self.process, device);
        match space.is_some_and(Space::has_allocator) {
            true => LayerKind::Blocks,
            false => LayerKind::Driver,
        }
    }

    fn segments(
        &self,
        wanted: impl Fn(DeviceId) -> bool,
        pickler: &mut Pickler<'_>,
    ) -> io::Result<()> {
        pickler.list(|pickler, written| {
            for device in self.devices().into_iter().filter(|device| wanted(*device)) {
                let Some(space) = self.model.space(self.process, device) else { continue };
                for segment in segments_of(space) {
                    pickler.item(written)?;
                    segment.write(device, pickler)?;
                }
            }
            Ok(())
        })
    }

    fn histories(
        &self,
        histories: &mut Histories,
        pickler: &mut Pickler<'_>,
    ) -> Result<(), ExportError> {
        let devices = self.devices();
        let ordinals = devices.iter().filter(|device| **device != DeviceId::HOST);
        let count = ordinals.map(|device| device.0 + 1).max().unwrap_or(1);
        pickler.text("device_traces")?;
        pickler.list(|pickler, written| {
            for ordinal in 0..count {
                pickler.item(written)?;
                self.history(DeviceId(ordinal), histories, pickler)?;
            }
            Ok::<(), ExportError>(())
        })?;
        if devices.contains(&DeviceId::HOST) {
            pickler.text("host_segments")?;
            self.segments(|device| device == DeviceId::HOST, pickler)?;
            pickler.text("host_traces")?;
            self.history(DeviceId::HOST, histories, pickler)?;
        }
        Ok(())
    }

    fn history(
        &self,
        device: DeviceId,
        histories: &mut Histories,
        pickler: &mut Pickler<'_>,
    ) -> Result<(), ExportError> {
        let layer = self.layer(device);
        pickler.list(|pickler, written| {
            histories.read((self.process, device), layer, |entry| {
                pickler.item(written)?;
                write_entry(&entry, pickler)
            })
        })
    }

    /// A setting with a dot in its name is an entry of a dict: `roundup_power2_divisions.16`.
    fn settings(&self, pickler: &mut Pickler<'_>) -> io::Result<()> {
        let mut groups = BTreeMap::<&str, Vec<(&str, &str)>>::new();
        pickler.dict(|pickler| {
            for (name, value) in &self.settings {
                match name.split_once('.') {
                    Some((group, inner)) => groups.entry(group).or_default().push((inner, value)),
                    None => {
                        pickler.text(name)?;
                        setting(value, pickler)?;
                    }
                }
            }
            for (group, entries) in groups {
                pickler.text(group)?;
                pickler.dict(|pickler| {
                    entries.into_iter().try_for_each(|(name, value)| {
                        pickler.text(name)?;
                        setting(value, pickler)
                    })
                })?;
            }
            Ok(())
        })
    }

    fn annotations(&self, pickler: &mut Pickler<'_>) -> io::Result<()> {
        pickler.list(|pickler, written| {
            for annotation in &self.annotations {
                pickler.item(written)?;
                pickler.dict(|pickler| {
                    pickler.text("device")?;
                    pickler.number(annotation.device.0.into())?;
                    pickler.text("time_us")?;
                    pickler.number(microseconds(annotation.time))?;
                    pickler.text("stage")?;
                    pickler.text("START")?;
                    pickler.text("name")?;
                    pickler.text(&annotation.name)
                })?;
            }
            Ok(())
        })
    }
}

fn write_entry(entry: &Entry, pickler: &mut Pickler<'_>) -> io::Result<()> {
    let tables = pickler.tables();
    pickler.dict(|pickler| {
        pickler.text("action")?;
        pickler.text(entry.action.name())?;
        let of_failure = entry.action == EntryAction::OutOfMemory;
        pickler.text(if of_failure { "device_free" } else { "addr" })?;
        pickler.number(entry.address.0)?;
        pickler.text("size")?;
        pickler.number(entry.size.0)?;
        pickler.text("stream")?;
        pickler.number(entry.stream.0)?;
        pickler.text("time_us")?;
        pickler.number(microseconds(entry.time))?;
        pickler.text("pool_id")?;
        pickler.pair(tables.pool_name(entry.pool))?;
        pickler.text("frames")?;
        pickler.stack(entry.stack)
    })
}

/// A setting's value as PyTorch has it: a number or a truth where the text is exactly one.
fn setting(value: &str, pickler: &mut Pickler<'_>) -> io::Result<()> {
    match value {
        "true" => return pickler.flag(true),
        "false" => return pickler.flag(false),
        _ => {}
    }
    match value.parse::<i64>() {
        Ok(number) if number.to_string() == value => pickler.signed(number),
        _ => pickler.text(value),
    }
}
