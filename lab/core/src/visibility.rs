//! `CUDA_VISIBLE_DEVICES`: which devices of the machine a process sees, and in which order. Pure.

use crate::identity;

/// The environment variable.
pub const VISIBLE_VARIABLE: &str = "CUDA_VISIBLE_DEVICES";

/// The variable that says how CUDA counts devices.
pub const ORDER_VARIABLE: &str = "CUDA_DEVICE_ORDER";

/// The machine's devices as CUDA counts them, by how fast each is. Documented: the fastest is the first, unless the
/// variable says `PCI_BUS_ID`; the order of the others, which is not documented, is assumed to be the machine's.
#[must_use]
pub fn counted(order: Option<&str>, speeds: &[u64]) -> Vec<usize> {
    let mut devices: Vec<usize> = (0..speeds.len()).collect();
    let fastest = speeds.iter().max().and_then(|most| speeds.iter().position(|one| one == most));
    if let Some(fastest) = fastest.filter(|_| order != Some("PCI_BUS_ID")) {
        devices[..=fastest].rotate_right(1);
    }
    devices
}

/// The machine's devices in the order in which the process sees them. Documented: numbers, or
/// identifiers that may be cut short, up to the first entry that names no device.
#[must_use]
pub fn visible(list: Option<&str>, counted: &[usize]) -> Vec<usize> {
    let Some(list) = list else { return counted.to_vec() };
    let entries = list.split(',').map(str::trim);
    let mut seen = Vec::new();
    for device in entries.map_while(|entry| named(entry, counted)) {
        if seen.contains(&device) {
            // A device that is named twice makes the whole list invalid.
            return Vec::new();
        }
        seen.push(device);
    }
    seen
}

fn named(entry: &str, counted: &[usize]) -> Option<usize> {
    if entry.starts_with("GPU-") {
        let mut matching =
            counted.iter().copied().filter(|index| identity::uuid_text(*index).starts_with(entry));
        let only = matching.next();
        // Cut too short, it names several.
        return only.filter(|_| matching.next().is_none());
    }
    counted.get(entry.parse::<usize>().ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_selects_and_orders() {
        let visible = |list, count| super::visible(list, &counted(None, &vec![1; count]));
        assert_eq!(visible(None, 3), [0, 1, 2]);
        assert_eq!(visible(Some("2,0"), 3), [2, 0]);
        assert_eq!(visible(Some(" 1 , 2 "), 3), [1, 2]);
        assert_eq!(visible(Some("0,7,1"), 3), [0], "up to the first that names none");
        for nothing in ["", "-1", "none", "1,1"] {
            assert_eq!(visible(Some(nothing), 3), [0; 0], "{nothing}");
        }
    }

    #[test]
    fn the_fastest_is_the_first() {
        assert_eq!(counted(None, &[1, 2, 3, 3]), [2, 0, 1, 3]);
        assert_eq!(counted(Some("FASTEST_FIRST"), &[1, 9]), [1, 0]);
        assert_eq!(counted(Some("PCI_BUS_ID"), &[1, 9]), [0, 1]);
        assert_eq!(counted(None, &[]), [0; 0]);
        assert_eq!(visible(Some("0"), &counted(None, &[1, 9])), [1]);
    }

    #[test]
    fn identifiers_name_devices_too() {
        let visible = |list, count| super::visible(list, &counted(None, &vec![1; count]));
        let second = identity::uuid_text(1);
        assert_eq!(visible(Some(&second), 2), [1]);
        assert_eq!(visible(Some("GPU-7768"), 1), [0], "one device: a short one is enough");
        assert_eq!(visible(Some("GPU-7768"), 2), [0; 0], "two: it is ambiguous");
    }
}
