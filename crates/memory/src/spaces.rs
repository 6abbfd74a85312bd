//! The spaces of all processes and devices.

use std::{collections::BTreeMap, ops::RangeInclusive};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use whyoom_trace::{DeviceId, ProcessId};

use crate::{layer::Keeps, space::Space};

/// Whose memory it is, and where.
pub(crate) type SpaceKey = (ProcessId, DeviceId);

/// Every space by its key. Most events are of the same space as the one before: that one is not looked for again.
#[derive(Debug, Default)]
pub(crate) struct Spaces {
    indices: BTreeMap<SpaceKey, usize>,
    spaces: Vec<Space>,
    last: Option<(SpaceKey, usize)>,
}

/// As a map: where each lies is nobody's business, and not to be believed of a file.
impl Serialize for Spaces {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Spaces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let by_key = BTreeMap::<SpaceKey, Space>::deserialize(deserializer)?;
        let indices = by_key.keys().enumerate().map(|(index, key)| (*key, index)).collect();
        Ok(Self { indices, spaces: by_key.into_values().collect(), last: None })
    }
}

impl Spaces {
    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SpaceKey, &Space)> {
        self.indices.iter().map(|(&key, &index)| (key, &self.spaces[index]))
    }

    /// Those of one process, in order.
    pub(crate) fn of(&self, process: ProcessId) -> impl Iterator<Item = (DeviceId, &Space)> {
        let keys = self.indices.range(all_of(process));
        keys.map(|(&(_, device), &index)| (device, &self.spaces[index]))
    }

    pub(crate) fn get(&self, key: SpaceKey) -> Option<&Space> {
        self.indices.get(&key).map(|&index| &self.spaces[index])
    }

    pub(crate) fn get_mut(&mut self, key: SpaceKey) -> Option<&mut Space> {
        self.indices.get(&key).map(|&index| &mut self.spaces[index])
    }

    /// The space of a key; a new one that keeps so much where it had none.
    #[inline(always)]
    pub(crate) fn entry(&mut self, key: SpaceKey, keeps: Keeps) -> &mut Space {
        let index = match self.last {
            Some((last, index)) if last == key => index,
            _ => self.look_up(key, keeps),
        };
        &mut self.spaces[index]
    }

    fn look_up(&mut self, key: SpaceKey, keeps: Keeps) -> usize {
        let next = self.spaces.len();
        let index = *self.indices.entry(key).or_insert(next);
        if index == next {
            self.spaces.push(Space::new(keeps));
        }
        self.last = Some((key, index));
        index
    }

    /// Shows those of a process, in order, to somebody who says when to stop.
    pub(crate) fn each_of(
        &mut self,
        process: ProcessId,
        mut stop: impl FnMut(DeviceId, &mut Space) -> bool,
    ) {
        for (&(_, device), &index) in self.indices.range(all_of(process)) {
            if stop(device, &mut self.spaces[index]) {
                return;
            }
        }
    }
}

fn all_of(process: ProcessId) -> RangeInclusive<SpaceKey> {
    (process, DeviceId(0))..=(process, DeviceId(u16::MAX))
}
