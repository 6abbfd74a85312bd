//! `CUDA_VISIBLE_DEVICES`: which devices of the machine a process sees, and in which order. Pure.

use crate::identity;

/// The environment variable.
pub const VISIBLE_VARIABLE: &str = "CUDA_VISIBLE_DEVICES";

/// The machine's devices in the order in which the process sees them. Documented: numbers, or
/// identifiers that may be cut short, up to the first entry that names no device.
#[must_use]
pub fn visible(list: Option<&str>, count: usize) -> Vec<usize> {
    let Some(list) = list else { return (0..count).collect() };
    let entries = list.split(',').map(str::trim);
    let mut seen = Vec::new();
    for device in entries.map_while(|entry| named(entry, count)) {
        if seen.contains(&device) {
            // A device that is named twice makes the whole list invalid.
            return Vec::new();
        }
        seen.push(device);
    }
    seen
}

fn named(entry: &str, count: usize) -> Option<usize> {
    if entry.starts_with("GPU-") {
        let mut matching =
            (0..count).filter(|index| identity::uuid_text(*index).starts_with(entry));
        let only = matching.next();
        // Cut too short, it names several.
        return only.filter(|_| matching.next().is_none());
    }
    entry.parse().ok().filter(|index| *index < count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_selects_and_orders() {
        assert_eq!(visible(None, 3), [0, 1, 2]);
        assert_eq!(visible(Some("2,0"), 3), [2, 0]);
        assert_eq!(visible(Some(" 1 , 2 "), 3), [1, 2]);
        assert_eq!(visible(Some("0,7,1"), 3), [0], "up to the first that names none");
        for nothing in ["", "-1", "none", "1,1"] {
            assert_eq!(visible(Some(nothing), 3), [0; 0], "{nothing}");
        }
    }

    #[test]
    fn identifiers_name_devices_too() {
        assert_eq!(visible(Some(&identity::uuid_text(1)), 2), [1]);
        assert_eq!(visible(Some("GPU-7768"), 1), [0], "one device: a short one is enough");
        assert_eq!(visible(Some("GPU-7768"), 2), [0; 0], "two: it is ambiguous");
    }
}
