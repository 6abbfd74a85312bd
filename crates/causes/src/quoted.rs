//! Names from inputs, quoted in sentences of our own.

/// Characters of a name that are shown. Chosen, not measured: a program and its first arguments.
const LONGEST: usize = 60;

/// Returns a name from an input in quotation marks, cut. Quotation marks and line breaks within cannot end it.
pub(crate) fn quoted(name: &str) -> String {
    let plain = |c: char| match c {
        '“' | '”' | '„' | '"' => '\'',
        c if c.is_control() => ' ',
        c => c,
    };
    let shown: String = name.chars().take(LONGEST).map(plain).collect();
    let cut = if name.chars().nth(LONGEST).is_some() { "…" } else { "" };
    format!("“{shown}{cut}”")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_its_quotation() {
        assert_eq!(quoted("python train.py"), "“python train.py”");
        assert_eq!(quoted("a” b\" c\nd"), "“a' b' c d”");
        assert_eq!(quoted(&"x".repeat(61)), format!("“{}…”", "x".repeat(60)));
    }
}
