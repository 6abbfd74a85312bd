//! `whyoom mcp` with a client of the protocol's own SDK; files that it must not read, programs that it must not run,
//! and how it ends. SARIF against its schema.

mod ending;
mod paths;
mod permission;
mod sarif;
mod session;
mod tools;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    Ok(vec![
        Check::new("tools", tools::run),
        Check::new("paths::hostile", paths::hostile),
        Check::new("paths::swapped", paths::swapped),
        Check::new("permission", permission::run),
        Check::new("ending::input", ending::end_of_input),
        Check::new("ending::signal", ending::signal),
        Check::new("ending::cancelled", ending::cancelled),
        Check::new("ending::pipe", ending::broken_pipe),
        Check::new("ending::line", ending::endless_line),
        Check::new("sarif", sarif::run),
    ])
}
