//! `whyoom-fleet replay`: what would have served the cluster's own runs, replayed in shards on many machines.
//!
//! There is no coordinator. A [`manifest`] lists what is to be replayed; each entry has a key, made of the
//! recording's content, the settings and the version of whyoom; a [`shard`] writes one result a key, once; the
//! [`sum`] says nothing before each key has one. Whatever starts shards may start them twice, anywhere.

mod manifest;
mod recording;
mod shard;
mod sum;

use anyhow::{Context as _, Result, bail};
use whyoom_archive::Archive;
use whyoom_judge::Judge;

use self::manifest::Manifest;
use crate::cli::ReplayWish;

pub(crate) fn run(wish: &ReplayWish) -> Result<()> {
    if !wish.plan.is_empty() {
        let judge = Judge::new(wish.whyoom.clone(), wish.set.clone());
        let manifest = Manifest::of(&wish.plan, wish.set.clone(), version_of(&judge, wish)?)?;
        let name = manifest.put(&Archive::open(&wish.archive)?)?;
        println!("{} recordings and snapshots", manifest.entries.len());
        println!("manifest {name}");
        return Ok(());
    }
    let archive = Archive::existing(&wish.archive)?;
    let name = wish.manifest.as_deref().unwrap_or_default();
    let manifest = Manifest::get(&archive, name)?;
    match wish.shard {
        Some(shard) => {
            let judge = Judge::new(wish.whyoom.clone(), manifest.settings.clone());
            let version = version_of(&judge, wish)?;
            if version != manifest.whyoom {
                bail!("this is {version}, and the manifest was made for {}", manifest.whyoom);
            }
            shard::run(&archive, &manifest, shard, &judge)
        }
        None => sum::run(&archive, &manifest, wish.json),
    }
}

fn version_of(judge: &Judge, wish: &ReplayWish) -> Result<String> {
    let absent = || format!("{} cannot be run; name it with --whyoom", wish.whyoom.display());
    judge.version().with_context(absent)
}
