//! What nvidia-smi told of a GPU's memory, where somebody pasted that too.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::Bytes;

use super::amount::regex;

/// A row of its table: `| 0%  35C  P8  20W / 450W |  18MiB / 24564MiB | ...`.
static TABLE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?m)\|\s*(\d+)\s*MiB\s*/\s*(\d+)\s*MiB\s*\|"));
/// The columns that a query named, and the rows behind them.
static QUERY: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?m)^(.*memory\.(?:used|free|total) \[MiB\].*)$"));

/// What the GPU had free and in all. Of several GPUs it is not told which one failed: then nothing.
pub(super) fn memory(text: &str) -> Option<(Bytes, Bytes)> {
    in_table(text).or_else(|| in_query(text))
}

/// What each GPU of its tables had in use, and in all, in MiB.
pub(super) fn rows(text: &str) -> Vec<(u64, u64)> {
    let row = |row: regex::Captures<'_>| Some((row[1].parse().ok()?, row[2].parse().ok()?));
    TABLE.captures_iter(text).filter_map(row).collect()
}

fn in_table(text: &str) -> Option<(Bytes, Bytes)> {
    let [(used, total)] = *rows(text).as_slice() else { return None };
    let (used, total) = (in_bytes(used)?, in_bytes(total)?);
    Some((total.minus(used), total))
}

fn in_query(text: &str) -> Option<(Bytes, Bytes)> {
    let header = QUERY.captures_iter(text).last()?.get(1)?;
    let mut rows = text[header.end()..].lines().skip(1).filter(|line| !line.trim().is_empty());
    let row: Vec<&str> = rows.next()?.split(',').map(str::trim).collect();
    let is_row = |line: &str| line.split(',').count() == row.len() && line.contains("MiB");
    if rows.next().is_some_and(is_row) {
        return None;
    }
    let column = |name: &str| {
        let index = header.as_str().split(',').position(|one| one.trim().starts_with(name))?;
        mebibytes(row.get(index)?.strip_suffix(" MiB")?)
    };
    let total = column("memory.total")?;
    let free = column("memory.free").or_else(|| Some(total.minus(column("memory.used")?)))?;
    Some((free, total))
}

/// A process in its table: `|    0   N/A  N/A    184201      C   python        21530MiB |`; before 2020 without
/// the two columns of slices.
static PROCESS: LazyLock<Regex> = LazyLock::new(|| {
    let slices = r"(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?";
    regex(&format!(r"(?m)^\W*?(\d+)\s+{slices}(\d+)\s+(?:C|G|C\+G|M\+C)\s.*?(\d+)\s*MiB\s*\|"))
});

/// A row of a list that somebody made of it: a process's number and what it held, behind such a heading.
static HEADING: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?mi)^\W*pid\b[^\n]{0,80}\bmem\w*[^\n]*$"));
static ROW: LazyLock<Regex> = LazyLock::new(|| regex(r"^\W*(\d{2,8})\b[^\n]*?\b(\d+)\s*MiB\W*$"));

/// The processes of such a list.
fn in_list(text: &str) -> Vec<(u32, Bytes)> {
    let Some(heading) = HEADING.find_iter(text).last() else { return Vec::new() };
    let rows = text[heading.end()..].lines().skip(1).filter(|line| !line.trim().is_empty());
    let rows = rows.map_while(|line| ROW.captures(line));
    rows.filter_map(|row| Some((row[1].parse().ok()?, mebibytes(&row[2])?))).collect()
}

/// The processes that it listed on a device, with what each held; where the device is not told, all of them
/// if they are on one.
pub(super) fn processes(text: &str, device: Option<u16>) -> Vec<(u32, Bytes)> {
    let rows: Vec<(u16, u32, Bytes)> = PROCESS
        .captures_iter(text)
        .filter_map(|row| Some((row[1].parse().ok()?, row[2].parse().ok()?, mebibytes(&row[3])?)))
        .collect();
    let only = rows.first().map(|row| row.0).filter(|one| rows.iter().all(|row| row.0 == *one));
    if rows.is_empty() {
        return in_list(text);
    }
    let Some(device) = device.or(only) else { return Vec::new() };
    let mut found: Vec<(u32, Bytes)> = Vec::new();
    for (_, pid, bytes) in rows.into_iter().filter(|row| row.0 == device) {
        // Pasted twice, the later table counts.
        found.retain(|(known, _)| *known != pid);
        found.push((pid, bytes));
    }
    found
}

/// Whether it listed nobody, while this much of the GPU was in use or more.
pub(super) fn lists_nobody(text: &str, at_least: Bytes) -> bool {
    let used = in_table(text).map(|(free, total)| total.minus(free));
    text.contains("No running processes found") && used.is_some_and(|used| used >= at_least)
}

fn mebibytes(number: &str) -> Option<Bytes> {
    in_bytes(number.trim().parse().ok()?)
}

fn in_bytes(mebibytes: u64) -> Option<Bytes> {
    mebibytes.checked_mul(1 << 20).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn its_table_and_its_columns_are_read() {
        let idle = Some((Bytes(24546 * MIB), Bytes(24564 * MIB)));
        for text in [
            "|  0%  35C  P8  20W / 450W |     18MiB / 24564MiB |      0%      Default |",
            "memory.used [MiB], memory.total [MiB]\n18 MiB, 24564 MiB\n$ python demo.py",
            "index, memory.total [MiB], memory.free [MiB]\n0, 24564 MiB, 24546 MiB\n",
        ] {
            assert_eq!(memory(text), idle, "{text}");
        }
    }

    #[test]
    fn of_several_it_is_not_told_which() {
        for text in [
            "| 18MiB / 24564MiB |\n| 24000MiB / 24564MiB |",
            "memory.used [MiB], memory.total [MiB]\n18 MiB, 24564 MiB\n9 MiB, 24564 MiB\n",
            "no table at all",
            "memory.used [MiB]\n18 MiB",
        ] {
            assert_eq!(memory(text), None, "{text}");
        }
    }

    #[test]
    fn its_processes_are_read_in_both_forms() {
        let text = "|    0   N/A  N/A    184201      C   python            21530MiB |\n\
                    |    1   N/A  N/A      1299      G   /usr/lib/xorg/Xorg     9MiB |\n";
        assert_eq!(processes(text, Some(0)), [(184_201, Bytes(21530 * MIB))]);
        assert_eq!(processes(text, Some(1)), [(1299, Bytes(9 * MIB))]);
        assert_eq!(processes(text, None), []);
        let old = "|    0      7712      C   python3                        10241MiB |";
        assert_eq!(processes(old, None), [(7712, Bytes(10241 * MIB))]);
        let nobody = "| 41C P0 71W / 400W | 30217MiB / 40960MiB |\n|  No running processes found |";
        assert!(lists_nobody(nobody, Bytes(20_000 * MIB)));
        assert!(!lists_nobody(nobody, Bytes(40_000 * MIB)) && !lists_nobody(old, Bytes(0)));
        assert_eq!(processes("|  No running processes found      |", Some(0)), []);
        assert_eq!(
            processes("| 61%   68C    P2   311W / 350W |  21533MiB / 24268MiB |", Some(0)),
            []
        );
    }
}
