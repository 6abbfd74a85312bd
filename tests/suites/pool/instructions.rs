//! Instructions of an allocation and its free through PyTorch's own interface, counted by callgrind: the
//! same on every machine, however busy.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result, bail, ensure};
use harness::{Build, Held, Need, Trial, empty_folder, files, text};

use super::cost::program;

/// Small: callgrind has too few addresses for a larger device.
const DEVICE: &str = "2GiB";
/// Few: callgrind is some fifty times slower than the machine.
const PAIRS: u32 = 4096;
/// What was measured when it was set (0.509), and a little: it keeps a pair from becoming slower unseen. The
/// goal is another: 0.4 of the time, which `cost` measures.
const BAR: f64 = 0.53;

const PATTERNS: [&str; 2] = ["one_at_a_time", "among_others"];

pub(super) fn run() -> Result<Held> {
    Need::Valgrind.met()?;
    let counts = counts()?;
    let count = |pattern: &str, allocator: &str| {
        let name = format!("{pattern} {allocator}");
        counts.get(&name).copied().with_context(|| format!("{name} was not counted"))
    };
    let (mut worst, mut said) = (0.0, Vec::new());
    for pattern in PATTERNS {
        let counts = ["native", "wrapper", "pool"].map(|allocator| count(pattern, allocator));
        let [native, wrapper, pool] = counts;
        let (native, wrapper, pool) = (native?, wrapper?, pool?);
        worst = f64::max(worst, pool / native);
        said.push(format!(
            "{pool:.0} ({wrapper:.0} of them PyTorch's wrapper) against {native:.0}"
        ));
    }
    let said = said.join("; ");
    let said =
        format!("a pair takes {worst:.3} of the native instructions (at most {BAR}): {said}");
    ensure!(worst > 0.0 && worst <= BAR, "{said}");
    Ok(Held::new(said))
}

/// Instructions of a pair, by pattern and allocator.
fn counts() -> Result<BTreeMap<String, f64>> {
    let folder = empty_folder("pool-instructions")?;
    let valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no"];
    let mut command = valgrind.map(str::to_owned).to_vec();
    command.push(format!("--callgrind-out-file={}", text(&folder.join("out"))));
    command.extend([text(&program()?), text(&Build::ready()?.pool())]);
    command.extend(["count".to_owned(), PAIRS.to_string()]);
    Trial::new(DEVICE, &command).plain()?.succeeded()?;
    let mut counts = BTreeMap::new();
    for file in files(&folder)? {
        let part = fs::read_to_string(&file)?;
        let value = |key: &str| part.lines().find_map(|line| line.strip_prefix(key));
        // The last file is of what comes after, which is not counted.
        let Some(name) = value("desc: Trigger: Client Request: ") else { continue };
        let total: u32 = value("totals: ").context("callgrind gave no count")?.trim().parse()?;
        if total < PAIRS || counts.contains_key(name) {
            bail!("callgrind saw {total} instructions of {name}");
        }
        counts.insert(name.to_owned(), f64::from(total) / f64::from(PAIRS));
    }
    Ok(counts)
}
