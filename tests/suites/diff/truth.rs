//! What is true of a pair, and whether something that was said is that.

use anyhow::{Result, ensure};
use harness::{Check, Held};
use serde::Deserialize;

/// The bytes of what is named may differ by so much.
const BAR: f64 = 0.02;

#[derive(Clone, Deserialize)]
pub(super) struct Truth {
    direction: String,
    #[expect(dead_code, reason = "for people")]
    peak_delta_bytes: Option<i64>,
    #[expect(dead_code, reason = "for people")]
    how: Option<String>,
    #[expect(dead_code, reason = "for people")]
    peak_in: Option<serde_json::Value>,
    pub(super) expected: Vec<Item>,
    pub(super) setting: Option<String>,
    #[expect(dead_code, reason = "for people")]
    unsure: Option<String>,
}

impl Truth {
    pub(super) fn is_nothing(&self) -> bool {
        self.direction == "nothing"
    }
}

/// What may be named first. Of each field one of the values is right; nothing: any is.
#[derive(Clone, Deserialize)]
pub(super) struct Item {
    /// Nothing among them: it belongs to no module.
    module: Option<Vec<Option<String>>>,
    kind: Option<Vec<Option<String>>>,
    #[expect(dead_code, reason = "the kind implies it")]
    phase: Option<Vec<Option<String>>>,
    site: Option<Vec<Option<String>>>,
    bytes: Option<i64>,
    #[expect(dead_code, reason = "for people")]
    how: Option<String>,
}

/// What was named first.
#[derive(Deserialize)]
pub(super) struct Named {
    module: Option<String>,
    categories: Vec<Kind>,
    bytes: i64,
    sites: Vec<Site>,
    pub(super) because: Option<String>,
}

#[derive(Deserialize)]
struct Kind {
    category: String,
}

#[derive(Deserialize)]
struct Site {
    site: String,
}

impl Item {
    /// How what was named differs from this.
    pub(super) fn differs(&self, named: &Named) -> Result<()> {
        if let Some(modules) = &self.module {
            let own = named.module.as_deref().unwrap_or_default();
            let right = |one: &Option<String>| is_module(one.as_deref().unwrap_or_default(), own);
            ensure!(modules.iter().any(right), "module {own} is none of {modules:?}");
        }
        if let Some(kinds) = &self.kind {
            let own = named.categories.first().map(|kind| kind.category.clone());
            ensure!(kinds.contains(&own), "{own:?} is none of {kinds:?}");
        }
        if let Some(sites) = &self.site {
            let at = |site: &Site| site.site.split(' ').next().unwrap_or_default().to_owned();
            let own = named.sites.iter().map(at).collect::<Vec<_>>();
            let is_own = |site: &String| {
                own.iter().any(|one| one.ends_with(&format!("/{site}")) || one == site)
            };
            let right = sites.iter().flatten().any(is_own);
            ensure!(right || sites.is_empty(), "{own:?} are none of {sites:?}");
        }
        if let Some(bytes) = self.bytes {
            let difference = (named.bytes - bytes).unsigned_abs() as f64;
            let most = bytes.unsigned_abs() as f64 * BAR;
            ensure!(difference <= most, "{} B are not {bytes} B", named.bytes);
        }
        Ok(())
    }
}

/// Whether a module is what a pattern means: `*` is one part of a name, `.**` at its end the module and all below it.
fn is_module(pattern: &str, module: &str) -> bool {
    let (pattern, below) = match pattern.strip_suffix(".**") {
        Some(above) => (above, true),
        None => (pattern.trim_end_matches(".*"), false),
    };
    let wrappers = ["module", "_fsdp_wrapped_module"];
    let own: Vec<&str> = module
        .trim_end_matches(".*")
        .split('.')
        .filter(|part| !part.is_empty() && !wrappers.contains(part))
        .collect();
    let meant: Vec<&str> = pattern.split('.').filter(|part| !part.is_empty()).collect();
    let is = |own: &[&str]| {
        let long_enough = if below { own.len() >= meant.len() } else { own.len() == meant.len() };
        long_enough && meant.iter().zip(own).all(|(meant, own)| *meant == "*" || meant == own)
    };
    // Of several models, each is named by its class first.
    let is_class = |part: &&str| part.starts_with(|first: char| first.is_ascii_uppercase());
    is(&own) || own.split_first().is_some_and(|(first, inside)| is_class(first) && is(inside))
}

/// The patterns of modules mean what the page says of them.
pub(super) fn check() -> Check {
    Check::new("patterns", || {
        for (pattern, module) in MATCHES {
            ensure!(is_module(pattern, module), "{pattern} is not {module}");
        }
        for (pattern, module) in OTHERS {
            ensure!(!is_module(pattern, module), "{pattern} is {module}");
        }
        Ok(Held::new(format!("{} patterns", MATCHES.len() + OTHERS.len())))
    })
}

const MATCHES: [(&str, &str); 7] = [
    ("body.**", "Discriminator.body.*"),
    ("blocks", "blocks.*"),
    ("blocks.*", "blocks.*"),
    ("blocks.*.mlp.**", "blocks.*.mlp.up"),
    ("blocks.*.mlp.**", "blocks.3.mlp"),
    ("", ""),
    ("layers.0", "module.layers.0"),
];
const OTHERS: [(&str, &str); 3] =
    [("blocks.*.mlp.**", "blocks.*"), ("blocks", "head"), ("", "head")];
