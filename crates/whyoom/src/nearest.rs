//! What somebody may have meant by a word that is not known.

/// From here on two words look alike.
const ALIKE: f64 = 0.75;
/// More are no help.
const MOST: usize = 3;

/// The known words that come nearest, the nearest first.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = letters(word);
    let likeness = |known: &str| {
        let known = letters(known);
        let within = word.len() > 2 && (known.contains(&word) || word.contains(&known));
        let one_letter = strsim::osa_distance(&word, &known) <= 1;
        // Of two letters, half make a word that merely begins alike.
        let likeness = if word.len() > 2 { strsim::jaro_winkler(&word, &known) } else { 0.0 };
        likeness.max(if one_letter { ALIKE } else { 0.0 }) + f64::from(u8::from(within))
    };
    let mut ranked: Vec<(f64, &str)> = known
        .into_iter()
        .map(|known| (likeness(known), known))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
    ranked.into_iter().map(|(_, known)| known).take(MOST).collect()
}

/// What follows a sentence that says that a word is not known: what may be meant, a line each, and what lists all.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    list: &str,
) -> String {
    match nearest(word, known).as_slice() {
        [] => format!("; to list all: {list}"),
        near => {
            let near: String = near.iter().map(|near| format!("  {near}\n")).collect();
            format!("; did you mean:\n{near}to list all: {list}")
        }
    }
}

/// What remains of a word when the ways of writing it no longer matter.
fn letters(word: &str) -> String {
    let letters = word.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_contains_the_word_comes_first() {
        let causes = ["growth", "fragmented-cache", "cache-held", "limit"];
        assert_eq!(nearest("fragmented", causes)[0], "fragmented-cache");
        assert_eq!(nearest("Growht", causes), ["growth"]);
        assert_eq!(nearest("zzz", causes), [""; 0]);
        assert_eq!(nearest("wy", ["why", "who", "run"]), ["why"]);
        assert_eq!(nearest("sh", ["schema", "who"]), [""; 0]);
        let said = did_you_mean("limits", causes, "whyoom causes");
        assert_eq!(said, "; did you mean:\n  limit\nto list all: whyoom causes");
        assert_eq!(did_you_mean("zzz", causes, "whyoom causes"), "; to list all: whyoom causes");
        assert_eq!(nearest("rtx4090ti", ["a100", "rtx-4090", "4060ti"])[0], "rtx-4090");
    }
}
