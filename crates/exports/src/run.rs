//! A run as it passes: the model's figures, and what each event changes.

use whyoom_memory::{Change, Layer, LayerKind, Model, Space, Totals};
use whyoom_trace::{Bytes, DeviceId, Event, EventSink, ProcessId, Tables};

/// One process's memory on one device.
pub(crate) type SpaceKey = (ProcessId, DeviceId);

/// A run as it passes.
pub(crate) struct Run {
    pub(crate) model: Model,
}

impl Default for Run {
    fn default() -> Self {
        Self { model: Model::followed() }
    }
}

/// The figures of one process on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// In use: the allocator's blocks or, where there is none, what was taken from the driver.
    pub(crate) allocated: Bytes,
    /// What the allocator holds; without one, what is held of the driver.
    pub(crate) reserved: Bytes,
    /// What is held of the driver, where its calls are known.
    pub(crate) driver: Option<Bytes>,
}

impl Run {
    /// Takes an event.
    pub(crate) fn event(&mut self, event: &Event, tables: &Tables) {
        self.model.event(event, tables);
    }

    /// What the last event changed.
    pub(crate) fn changes(&self) -> &[Change] {
        self.model.changes()
    }

    /// The number of the last event: the first is 1.
    pub(crate) fn number(&self) -> u64 {
        self.model.events()
    }

    /// The sums of a space's layer now; nothing where nothing is known of it.
    pub(crate) fn totals(&self, (process, device): SpaceKey, layer: LayerKind) -> Option<Totals> {
        let space = self.model.space(process, device)?;
        match layer {
            LayerKind::Blocks => space.has_allocator().then(|| space.layer().totals()),
            LayerKind::Driver => driver_layer(space).map(Layer::totals),
        }
    }

    /// The figures of a space now; nothing where it has no memory.
    pub(crate) fn figures(&self, (process, device): SpaceKey) -> Option<Figures> {
        let space = self.model.space(process, device)?;
        let totals = space.totals();
        let driver = driver_layer(space).map(|layer| layer.totals().reserved);
        Some(Figures { allocated: totals.allocated, reserved: totals.reserved, driver })
    }
}

/// What was taken from the driver, where anything ever was: an event that only waits makes a space too.
fn driver_layer(space: &Space) -> Option<&Layer> {
    let layer = space.driver()?.layer();
    (layer.block_counts() != (0, 0) || layer.peak_reserved() > Bytes::ZERO).then_some(layer)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use whyoom_trace::{Action, Address, ContextId, HandleId, MemoryKind, Origin, ResultCode};

    use super::*;

    fn action((kind, address, size): (u8, u64, u64)) -> Action {
        let (at, bytes, handle) = (Address(address * 64), Bytes(size), HandleId(address));
        match kind {
            0 => Action::BlockAlloc { address: at, requested: bytes, size: Bytes(size + 5) },
            1 => Action::BlockFreeRequested { address: at },
            2 => Action::BlockFree { address: at },
            3 => Action::Alloc { kind: MemoryKind::Device, address: at, size: bytes },
            4 => Action::Alloc { kind: MemoryKind::StreamOrdered, address: at, size: bytes },
            5 => Action::Alloc { kind: MemoryKind::Imported, address: at, size: bytes },
            6 | 7 => Action::Free { kind: MemoryKind::Device, address: at },
            8 => Action::Create { handle, size: bytes },
            9 => Action::Map { address: at, size: bytes, handle: HandleId(size % 16) },
            10 => Action::Release { handle },
            11 => Action::Unmap { address: at, size: bytes },
            12 => Action::ContextDestroy,
            _ => Action::HistoryStart,
        }
    }

    proptest! {
        #[test]
        fn the_changes_add_up_to_the_models_figures(
            steps in prop::collection::vec(
                ((0u8..14, 0u64..16, 1u64..200), 0u32..2, 0u16..2, 0u32..2, 0i32..8),
                0..300,
            ),
        ) {
            let tables = Tables::default();
            let mut run = Run::default();
            let mut sums = BTreeMap::<(SpaceKey, LayerKind), i64>::new();
            for (step, process, device, context, result) in steps {
                let event = Event {
                    origin: Origin {
                        process: ProcessId(process),
                        device: DeviceId(device),
                        context: ContextId(context),
                        ..Origin::default()
                    },
                    result: ResultCode(i32::from(result == 0) * 2),
                    action: action(step),
                    ..Event::default()
                };
                run.event(&event, &tables);
                for change in run.changes() {
                    *sums.entry((change.space, change.layer)).or_default() += change.bytes();
                }
                for (process, device, space) in run.model.spaces() {
                    let sum = |layer| sums.get(&((process, device), layer)).copied().unwrap_or(0);
                    if space.has_allocator() {
                        prop_assert_eq!(sum(LayerKind::Blocks), space.totals().allocated.0 as i64);
                    }
                    if let Some(driver) = space.driver() {
                        let allocated = driver.layer().totals().allocated.0 as i64;
                        prop_assert_eq!(sum(LayerKind::Driver), allocated, "{:?}", event);
                    }
                }
            }
        }
    }
}
