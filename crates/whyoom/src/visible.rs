//! Which GPUs the environment lets CUDA show to a program.

/// CUDA reads it when a program begins to use it.
const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";

/// That every GPU is hidden, and what to do; nothing where one is shown.
pub(crate) fn hides_all() -> Option<String> {
    let shown = std::env::var(VARIABLE).ok().filter(|shown| shows_none(shown))?;
    Some(format!("{VARIABLE}='{shown}' hides every GPU from the program: unset {VARIABLE}"))
}

/// CUDA stops at the first number that is none of a GPU.
fn shows_none(shown: &str) -> bool {
    let first = shown.split(',').next().unwrap_or_default().trim();
    first.is_empty() || first == "-1" || first == "NoDevFiles" || first == "none"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_decides() {
        assert!(["", "-1", "-1,0", "NoDevFiles"].into_iter().all(shows_none));
        assert!(!["0", "1,-1", "GPU-1234"].into_iter().any(shows_none));
    }
}
