//! The signs by which a process that uses the driver is known: one table.

use crate::capture::Open;

/// What a file tells of a process that has it open or mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It has this device open, by the number in the file's name.
    Device(u32),
    /// It manages memory: programs that compute have this open, monitors have not.
    UnifiedMemory,
    /// It talks to the driver.
    Control,
    /// It has the driver's library loaded, which says little: many programs do and use no device.
    Library,
}

/// How a file's path is compared with the table.
enum Pattern {
    /// The path begins so.
    Prefix(&'static str),
    /// The file's name begins so, in whatever folder.
    Name(&'static str),
}

/// The first line that fits counts. Devices are told apart before the table, by their number.
const SIGNS: &[(Pattern, Sign)] = &[
    (Pattern::Prefix("/dev/nvidia-uvm"), Sign::UnifiedMemory),
    (Pattern::Prefix("/dev/nvidiactl"), Sign::Control),
    (Pattern::Prefix("/dev/nvidia-caps"), Sign::Control),
    (Pattern::Prefix("/dev/nvidia-modeset"), Sign::Control),
    // The device of Windows, as a Linux under it sees it.
    (Pattern::Prefix("/dev/dxg"), Sign::Control),
    (Pattern::Name("libcuda.so."), Sign::Library),
];

/// What the file tells.
#[must_use]
pub fn sign(path: &str) -> Option<Sign> {
    if let Some(number) = path.strip_prefix("/dev/nvidia").and_then(|rest| rest.parse().ok()) {
        return Some(Sign::Device(number));
    }
    // Cheap, because almost every file of a machine comes by here.
    if !path.starts_with("/dev/") && !path.contains("libcuda.so.") {
        return None;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let fits = |pattern: &Pattern| match pattern {
        Pattern::Prefix(prefix) => path.starts_with(prefix),
        Pattern::Name(prefix) => name.starts_with(prefix),
    };
    SIGNS.iter().find(|(pattern, _)| fits(pattern)).map(|(_, sign)| *sign)
}

impl Open {
    /// Adds what a file tells. The library alone opens nothing.
    pub fn add(&mut self, sign: Sign) {
        match sign {
            Sign::Device(number) if !self.devices.contains(&number) => self.devices.push(number),
            Sign::Device(_) | Sign::Library => {}
            Sign::UnifiedMemory => self.unified_memory = true,
            Sign::Control => self.control = true,
        }
    }
}

/// The signs among the files of `/proc/PID/maps`.
pub fn in_maps(text: &str) -> impl Iterator<Item = Sign> + '_ {
    // Five fields stand before the path, which may hold spaces.
    text.lines().filter_map(|line| sign(line.get(line.find('/')?..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_driver() {
        for (path, expected) in [
            ("/dev/nvidia0", Some(Sign::Device(0))),
            ("/dev/nvidia15", Some(Sign::Device(15))),
            ("/dev/nvidiactl", Some(Sign::Control)),
            ("/dev/nvidia-uvm", Some(Sign::UnifiedMemory)),
            ("/dev/nvidia-caps/nvidia-cap2", Some(Sign::Control)),
            ("/usr/lib/x86_64-linux-gnu/libcuda.so.1", Some(Sign::Library)),
            ("/usr/lib/libcuda.so.595.10", Some(Sign::Library)),
            ("/usr/lib/libcudart.so.12", None),
            ("/dev/null", None),
            ("socket:[123]", None),
        ] {
            assert_eq!(sign(path), expected, "{path}");
        }
    }

    #[test]
    fn maps_with_odd_lines() {
        let text =
            "7f00-7f01 rw-s 00000000 00:05 900 /dev/nvidia3\n\n7f/\n7f00 /lib/libcuda.so.1\n";
        assert_eq!(in_maps(text).collect::<Vec<_>>(), [Sign::Device(3), Sign::Library]);
    }
}
