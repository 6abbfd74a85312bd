//! Names of modules as paths that two runs have in common.

/// What wrappers of libraries put into a module's name, and nobody wrote.
const WRAPPERS: [&str; 4] =
    ["_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod", "_forward_module"];
/// Outermost modules that only pass a call on to `module`.
const OUTERMOST: [&str; 5] = [
    "DistributedDataParallel",
    "DataParallel",
    "FullyShardedDataParallel",
    "DeepSpeedEngine",
    "OptimizedModule",
];

/// The parts of a module's name, without wrappers and without the class of the model, where the run has one.
pub(crate) fn path(name: &str, model: Option<&str>) -> Vec<String> {
    let mut parts = name.split('.').filter(|part| !WRAPPERS.contains(part)).peekable();
    let root = parts.next().unwrap_or_default();
    let is_wrapper = OUTERMOST.contains(&root);
    if is_wrapper && parts.peek() == Some(&"module") {
        parts.next();
    }
    let root = (model != Some(root) && !is_wrapper).then(|| root.to_owned());
    root.into_iter().chain(parts.map(str::to_owned)).collect()
}

/// The class of the outermost module.
pub(crate) fn root(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// A path with all members of a list in one: `layers.3.mlp` is `layers.*.mlp`.
pub(crate) fn pattern(path: &[String]) -> Vec<String> {
    let is_index = |part: &String| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    path.iter().map(|part| if is_index(part) { "*".to_owned() } else { part.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_no_part_of_a_name() {
        assert_eq!(path("GPT.layers.3.mlp", Some("GPT")).join("."), "layers.3.mlp");
        assert_eq!(path("GPT.layers.3", None).join("."), "GPT.layers.3");
        let wrapped =
            "FullyShardedDataParallel._fsdp_wrapped_module.layers.3._checkpoint_wrapped_module.mlp";
        assert_eq!(path(wrapped, None).join("."), "layers.3.mlp");
        assert_eq!(path("DistributedDataParallel.module.fc", None).join("."), "fc");
        assert_eq!(path("GPT", Some("GPT")), Vec::<String>::new());
    }

    #[test]
    fn a_pattern_has_no_indices() {
        let path = path("GPT.layers.31.experts.7.w2", Some("GPT"));
        assert_eq!(pattern(&path).join("."), "layers.*.experts.*.w2");
    }
}
