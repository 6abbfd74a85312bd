//! What a machine is made of, as words: in the state file, and as a shared lab tells it to those who enter.

use super::{
    DeviceSpec, Effect, KernelEffect, MachineSpec, Quirks, Units,
    limits::{MAX_BYTES, MAX_DEVICES, MAX_EFFECTS},
};
use crate::models::MODELS;

/// Counts of devices and effects, and three single settings.
const COUNT_WORDS: usize = 5;
/// Six switches in one word, and seven values.
const QUIRK_WORDS: usize = 8;
const FIRST_WORDS: usize = COUNT_WORDS + QUIRK_WORDS;
/// The model, three amounts and six units.
const DEVICE_WORDS: usize = 10;
/// A kernel's name, in words of eight bytes.
const NAME_WORDS: usize = 16;
const EFFECT_WORDS: usize = 2 + NAME_WORDS;

pub(super) const SPEC_WORDS: usize =
    FIRST_WORDS + MAX_DEVICES * DEVICE_WORDS + MAX_EFFECTS * EFFECT_WORDS;

pub(super) type SpecWords = [u64; SPEC_WORDS];

/// A wait is no longer than a day.
const LONGEST_WAIT: u64 = 24 * 60 * 60 * 1_000_000_000;

/// As words; nothing where there are more devices or effects than there is room for.
pub(super) fn encode(spec: &MachineSpec) -> Option<SpecWords> {
    let mut words = [0; SPEC_WORDS];
    if spec.devices.len() > MAX_DEVICES || spec.effects.len() > MAX_EFFECTS {
        return None;
    }
    let first = [
        spec.devices.len() as u64,
        spec.effects.len() as u64,
        spec.fail_allocation.unwrap_or_default(),
        spec.synchronize_nanoseconds,
        spec.largest_kept_copy.unwrap_or_default(),
    ];
    words[..COUNT_WORDS].copy_from_slice(&first);
    words[COUNT_WORDS..FIRST_WORDS].copy_from_slice(&quirk_words(&spec.quirks));
    let (devices, effects) = words[FIRST_WORDS..].split_at_mut(MAX_DEVICES * DEVICE_WORDS);
    for (place, device) in devices.as_chunks_mut().0.iter_mut().zip(&spec.devices) {
        *place = device_words(device);
    }
    for (place, effect) in effects.as_chunks_mut().0.iter_mut().zip(&spec.effects) {
        *place = effect_words(effect);
    }
    Some(words)
}

/// From words; nothing where they are no machine.
pub(super) fn decode(words: &SpecWords) -> Option<MachineSpec> {
    let (first, rest) = words.split_at(FIRST_WORDS);
    let (first, quirks) = first.split_at(COUNT_WORDS);
    let [device_count, effect_count, fail, synchronize, largest] = *first.as_array()?;
    let (devices, effects) = rest.split_at(MAX_DEVICES * DEVICE_WORDS);
    let devices = devices.as_chunks().0.get(..usize::try_from(device_count).ok()?)?;
    let effects = effects.as_chunks().0.get(..usize::try_from(effect_count).ok()?)?;
    Some(MachineSpec {
        devices: devices.iter().map(device).collect::<Option<_>>()?,
        fail_allocation: some(fail),
        synchronize_nanoseconds: a_wait(synchronize)?,
        effects: effects.iter().map(effect).collect::<Option<_>>()?,
        largest_kept_copy: some(largest),
        shared: false,
        quirks: quirks_of(*quirks.as_array()?)?,
    })
}

fn some(word: u64) -> Option<u64> {
    (word != 0).then_some(word)
}

fn quirk_words(quirks: &Quirks) -> [u64; QUIRK_WORDS] {
    let switches = [
        quirks.nvml_without_use,
        quirks.nvml_without_memory,
        quirks.no_virtual_memory,
        quirks.no_peers,
        quirks.mps,
        quirks.mig,
    ];
    let switches = switches.iter().rev().fold(0, |word, on| word << 1 | u64::from(*on));
    let lost = quirks.lost_device.map_or(0, |index| index as u64 + 1);
    let (first, last) = quirks.fail_mappings.unwrap_or_default();
    let granularity = quirks.granularity.unwrap_or_default();
    let nvml = quirks.nvml_nanoseconds;
    let (tables, node) = (quirks.page_table_bytes, quirks.graph_node_bytes);
    [switches, nvml, lost, first, last, granularity, tables, node]
}

fn quirks_of(
    [switches, nvml, lost, first, last, granularity, tables, node]: [u64; QUIRK_WORDS],
) -> Option<Quirks> {
    let possible = lost <= MAX_DEVICES as u64
        && tables <= MAX_BYTES
        && node <= MAX_BYTES
        && (granularity == 0 || granularity.is_power_of_two() && granularity <= MAX_BYTES);
    let on = |place: u32| switches >> place & 1 == 1;
    possible.then_some(Quirks {
        nvml_without_use: on(0),
        nvml_without_memory: on(1),
        no_virtual_memory: on(2),
        no_peers: on(3),
        nvml_nanoseconds: a_wait(nvml)?,
        lost_device: lost.checked_sub(1).map(|index| index as usize),
        fail_mappings: some(first).map(|first| (first, last)),
        granularity: some(granularity),
        page_table_bytes: tables,
        graph_node_bytes: node,
        mps: on(4),
        mig: on(5),
    })
}

fn device_words(device: &DeviceSpec) -> [u64; DEVICE_WORDS] {
    let model = MODELS.iter().position(|model| model.name == device.model.name);
    let DeviceSpec { units, total, nvml_total, capacity, .. } = *device;
    [
        model.unwrap_or_default() as u64,
        total,
        nvml_total,
        capacity,
        units.context,
        units.granularity,
        units.slab,
        units.small_limit,
        units.small_unit,
        units.pool_chunk,
    ]
}

fn device(words: &[u64; DEVICE_WORDS]) -> Option<DeviceSpec> {
    let [model, total, nvml_total, capacity, ref units @ ..] = *words;
    let [context, granularity, slab, small_limit, small_unit, pool_chunk] = *units;
    let units = Units { context, granularity, slab, small_limit, small_unit, pool_chunk };
    let model = MODELS.get(usize::try_from(model).ok()?)?;
    let possible = [total, nvml_total, capacity].iter().all(|bytes| *bytes <= MAX_BYTES);
    (possible && units.are_possible()).then_some(DeviceSpec {
        model,
        units,
        total,
        nvml_total,
        capacity,
    })
}

/// With the name cut to what there is room for.
fn effect_words(effect: &KernelEffect) -> [u64; EFFECT_WORDS] {
    let (number, nanoseconds) = match effect.effect {
        Effect::HeapExhausted => (1, 0),
        Effect::Fail => (2, 0),
        Effect::Busy(nanoseconds) => (3, nanoseconds),
        Effect::Touch(nanoseconds) => (4, nanoseconds),
    };
    let mut bytes = [0; NAME_WORDS * 8];
    let kept = effect.kernel.len().min(bytes.len());
    bytes[..kept].copy_from_slice(&effect.kernel.as_bytes()[..kept]);
    let mut words = [0; EFFECT_WORDS];
    (words[0], words[1]) = (number, nanoseconds);
    for (word, eight) in words[2..].iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*eight);
    }
    words
}

fn effect(&[number, nanoseconds, ref name @ ..]: &[u64; EFFECT_WORDS]) -> Option<KernelEffect> {
    let effect = match number {
        1 => Effect::HeapExhausted,
        2 => Effect::Fail,
        3 => Effect::Busy(a_wait(nanoseconds)?),
        4 => Effect::Touch(a_wait(nanoseconds)?),
        _ => return None,
    };
    let bytes = name.iter().flat_map(|word| word.to_ne_bytes());
    let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    Some(KernelEffect { kernel: String::from_utf8_lossy(&bytes).into_owned(), effect })
}

fn a_wait(nanoseconds: u64) -> Option<u64> {
    (nanoseconds <= LONGEST_WAIT).then_some(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> MachineSpec {
        let effect = |kernel: &str, effect| KernelEffect { kernel: kernel.to_owned(), effect };
        MachineSpec {
            devices: vec![DeviceSpec::of(&MODELS[1]), DeviceSpec::of(&MODELS[0])],
            fail_allocation: Some(3),
            synchronize_nanoseconds: 50,
            effects: vec![effect("one", Effect::Busy(7)), effect("two", Effect::Fail)],
            largest_kept_copy: Some(9),
            shared: false,
            quirks: Quirks {
                nvml_without_memory: true,
                no_peers: true,
                nvml_nanoseconds: 30,
                lost_device: Some(1),
                fail_mappings: Some((2, 3)),
                granularity: Some(4 << 20),
                page_table_bytes: 7,
                graph_node_bytes: 8,
                mig: true,
                ..Quirks::default()
            },
        }
    }

    #[test]
    fn words_lead_back() {
        let words = encode(&spec()).expect("it has room");
        let back = decode(&words).expect("it is a machine");
        assert_eq!(encode(&back), Some(words));
        assert_eq!((back.effects, back.devices.len()), (spec().effects, 2));
        assert_eq!(back.quirks, spec().quirks);
    }

    #[test]
    fn words_that_are_no_machine_are_refused() {
        let words = encode(&spec()).expect("it has room");
        let counts = [(0, 17), (0, u64::MAX), (1, 17), (3, u64::MAX)];
        let quirks = [(10, 3), (11, 1 << 51), (12, 1 << 51)];
        let device = [(13, 1000), (14, 1 << 51), (18, 3), (19, 0), (20, 1 << 40), (21, 3), (22, 1)];
        for (place, word) in counts.into_iter().chain(quirks).chain(device) {
            let mut words = words;
            words[place] = word;
            assert!(decode(&words).is_none(), "word {place} is {word}");
        }
        assert!(decode(&[u64::MAX; SPEC_WORDS]).is_none());
        assert!(decode(&[0; SPEC_WORDS]).is_some_and(|empty| empty.devices.is_empty()));
    }
}
