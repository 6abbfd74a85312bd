//! `cargo xtask stacks starts`: vLLM is started again and again; each start ends, and its KV cache is what `fit` says.

use std::num::NonZeroUsize;

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, documents::Fit, empty_folder, from_str};

use super::{at_a_time::at_a_time, table, table::Program, way::Way};

/// The servers that are started.
const SERVERS: [&str; 2] = ["vllm", "vllm-compiled"];
/// How often altogether.
const STARTS: usize = 20;
/// What vLLM logs of its KV cache.
const CACHE: &str = "GPU KV cache size:";

pub(super) fn run(jobs: NonZeroUsize) -> Result<Held> {
    let all = table::read()?.programs;
    let servers = table::chosen(&all, &SERVERS.map(str::to_owned))?;
    let build = Build::ready()?;
    let starts: Vec<(usize, &Program)> =
        (0..STARTS).map(|number| (number, servers[number % servers.len()])).collect();
    println!("{:<5} {:<14} {:>8}  KV cache", "start", "server", "seconds");
    let caches = at_a_time(jobs, &starts, |(number, server)| {
        let (seconds, cache) = started(build, server, *number)?;
        println!("{number:<5} {:<14} {seconds:>8.0}  {cache}", server.name);
        Ok((server.name.clone(), cache))
    })?;
    for server in servers {
        let folder = empty_folder(&format!("stacks-starts-fit-{}", server.name))?;
        let ended = Way::Fit.run(build, server, &folder)?;
        let status = ended.status.with_context(|| format!("fit of {} did not end", server.name))?;
        ensure!(status.success(), "fit of {}: {status}", server.name);
        let fit: Fit = from_str(&ended.out)?;
        let mut lines = fit.notes.iter().filter_map(|note| cache_in(&note.text));
        let told = lines.next().with_context(|| format!("fit says no cache of {}", server.name))?;
        println!("fit   {:<14} {:>8}  {told}", server.name, "");
        let other = caches.iter().find(|(name, cache)| *name == server.name && *cache != told);
        ensure!(other.is_none(), "{}: fit says {told}, a start {other:?}", server.name);
    }
    Ok(Held::new(format!("{STARTS} of {STARTS} starts of vLLM ended, each with the cache of fit")))
}

/// Starts a server in the lab: how long it took, and its cache.
fn started(build: &Build, server: &Program, number: usize) -> Result<(f64, String)> {
    let folder = empty_folder(&format!("stacks-starts-{number}"))?;
    let ended = Way::Lab.run(build, server, &folder)?;
    let status = ended.status.with_context(|| format!("start {number} did not end"))?;
    ensure!(status.success(), "start {number}: {status}; see {}", folder.display());
    let printed = [ended.out.as_str(), &ended.err];
    let cache = printed.iter().flat_map(|text| text.lines()).find_map(cache_in);
    Ok((ended.seconds, cache.with_context(|| format!("start {number} logged no cache"))?))
}

/// The size in a line of vLLM's log.
fn cache_in(line: &str) -> Option<String> {
    let (_, size) = line.split_once(CACHE)?;
    let size = size.split("tokens").next()?.trim();
    (!size.is_empty()).then(|| format!("{size} tokens"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_read_from_the_log() {
        let line =
            "(EngineCore pid=7) INFO 11-17 [kv_cache_utils.py:1] GPU KV cache size: 545,472 tokens";
        assert_eq!(cache_in(line).as_deref(), Some("545,472 tokens"));
        assert_eq!(cache_in("GPU KV cache size: 5 tokens; Maximum").as_deref(), Some("5 tokens"));
        assert_eq!(cache_in("GPU KV cache size:"), None);
        assert_eq!(cache_in("nothing"), None);
    }
}
