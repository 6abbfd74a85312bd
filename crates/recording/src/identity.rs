//! Which process a part is of: the first page of its file.

use crate::{
    format::{Kind, PART_IDENTITY, VERSION},
    header::{Wrong, check_start, u32_at, u64_at},
};

/// The first page of a part's file, which never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartIdentity {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// When the process started, in clock ticks after the machine did.
    pub(crate) started: u64,
    /// When the part was made, by the recording's clock.
    pub(crate) created: u64,
    /// What turns the recording's clock into Unix time.
    pub(crate) unix_offset: i64,
    /// Which run of which machine: clocks of the same one agree.
    pub(crate) boot: [u8; 16],
    pub(crate) segment_bytes: u32,
    /// What ring mode keeps; 0 for everything.
    pub(crate) limit: u64,
    /// The arguments without their secrets, each with a zero byte behind it.
    pub(crate) command: Vec<u8>,
}

pub(crate) const COMMAND: usize = 128;
const CHECKED: std::ops::Range<usize> = 16..PART_IDENTITY;

impl PartIdentity {
    pub(crate) fn bytes(&self) -> Box<[u8]> {
        let mut bytes = vec![0; PART_IDENTITY];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &Kind::Part.magic());
        put(8, &VERSION.to_le_bytes());
        put(16, &self.pid.to_le_bytes());
        put(20, &self.parent.to_le_bytes());
        put(24, &self.started.to_le_bytes());
        put(32, &self.created.to_le_bytes());
        put(40, &self.unix_offset.to_le_bytes());
        put(48, &self.boot);
        put(64, &self.segment_bytes.to_le_bytes());
        put(68, &(self.command.len() as u32).to_le_bytes());
        put(72, &self.limit.to_le_bytes());
        put(COMMAND, &self.command);
        let check = crc32fast::hash(&bytes[CHECKED]);
        bytes[12..16].copy_from_slice(&check.to_le_bytes());
        bytes.into()
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Wrong> {
        check_start(bytes, Kind::Part, CHECKED)?;
        let length = u32_at(bytes, 68) as usize;
        let command = bytes.get(COMMAND..COMMAND.saturating_add(length).min(PART_IDENTITY));
        let mut boot = [0; 16];
        boot.copy_from_slice(&bytes[48..64]);
        Ok(Self {
            pid: u32_at(bytes, 16),
            parent: u32_at(bytes, 20),
            started: u64_at(bytes, 24),
            created: u64_at(bytes, 32),
            unix_offset: u64_at(bytes, 40).cast_signed(),
            boot,
            segment_bytes: u32_at(bytes, 64),
            limit: u64_at(bytes, 72),
            command: command.unwrap_or_default().to_vec(),
        })
    }
}

/// The parent and the start of a process, from its line in /proc: the name may hold anything, so the
/// fields are counted from its last bracket.
pub(crate) fn parent_and_start(stat: &str) -> (u32, u64) {
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let field = |at: usize| fields.split_ascii_whitespace().nth(at);
    let parent = field(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let start = field(19).and_then(|text| text.parse().ok()).unwrap_or(0);
    (parent, start)
}

/// The digits of a boot's name as bytes.
pub(crate) fn boot_number(text: &str) -> [u8; 16] {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(32).collect();
    u128::from_str_radix(&digits, 16).unwrap_or(0).to_be_bytes()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn an_identity_comes_back() {
        let identity = PartIdentity::of_this_process(1 << 20, Some(5));
        assert_eq!(identity.pid, std::process::id());
        assert!(identity.started > 0 && identity.parent > 0 && !identity.command.is_empty());
        assert_eq!(PartIdentity::read(&identity.bytes()), Ok(identity));
    }

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 5 7 7 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 99 0";
        assert_eq!(parent_and_start(stat), (5, 99));
    }
}
