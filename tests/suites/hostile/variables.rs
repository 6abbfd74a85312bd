//! Values of variables that cannot be meant: nothing is guessed from them.

use anyhow::{Result, ensure};
use harness::{Bounded, Build, Held, text};

/// Where `whyoom run`'s own arguments are wrong.
const MISUSED: i32 = 2;
const NONSENSE: [&str; 3] = ["8GiB", "99999999999999999999", "\u{1b}[2J"];

/// Who asks for a cap gets one, or hears why not.
pub(super) fn pool_cap() -> Result<Held> {
    let whyoom = text(&Build::ready()?.whyoom());
    let run = |name, value| {
        let command = [&whyoom, "run", "-q", "--pool", "--", "sh", "-c", "echo ran; exit 7"];
        Bounded::run(&command, None, &[(name, value)])?.in_bounds(0)
    };
    for name in ["WHYOOM_POOL_CAP", "WHYOOM_POOL_DEBUG"] {
        for value in NONSENSE {
            let Bounded { status, out, err, .. } = run(name, value)?;
            ensure!(
                status == Some(MISUSED) && out.is_empty(),
                "{name}={value:?}: {status:?}: {err}"
            );
            ensure!(err.contains(name) && err.lines().count() == 1, "{name}={value:?} said: {err}");
            ensure!(!err.contains('\u{1b}'), "{name}={value:?} reaches the terminal: {err:?}");
        }
        let ran = run(name, "1073741824")?;
        ensure!(
            (ran.status, &*ran.out) == (Some(7), "ran\n"),
            "{name}: {:?}: {}",
            ran.status,
            ran.err
        );
    }
    Ok(Held::new("refused before the start").count("values", 2 * NONSENSE.len() as u64))
}
