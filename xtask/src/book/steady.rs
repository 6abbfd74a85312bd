//! What of a page stays the same from run to run.

/// Units of time, before which an age or a duration stands.
const TIMES: &[&str] = &["ns", "µs", "ms", "s", "min", "h", "d"];

/// The words of a text; numbers of processes, counts of events, ages and the bars of charts are left
/// out of account, as is where lines break.
pub(super) fn told(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_age = |place: usize| {
        let next = words.get(place + 1).map(|word| word.trim_end_matches([',', '.', ';', ')']));
        next.is_some_and(|next| TIMES.contains(&next))
    };
    let stays =
        |(place, word): (usize, &&str)| (!is_age(place) && !is_chart(word)).then(|| steady(word));
    words.iter().enumerate().filter_map(stays).collect()
}

/// Bars, and the levels of a chart's edge.
fn is_chart(word: &str) -> bool {
    word.chars().all(|letter| ('\u{2580}'..='\u{259f}').contains(&letter))
}

/// A whole number that stands alone differs: most are processes.
fn steady(word: &str) -> String {
    let number = word.trim_matches(|edge: char| !edge.is_ascii_alphanumeric());
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { word.replace(number, "N") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn processes_ages_and_bars_do_not_count_and_amounts_do() {
        let one = "PID 4711 (3.38 GiB) for 18.5 s, ▂▃█ ░ peak";
        let other = "PID 12 (3.38 GiB)\n  for 2 s, ▂█ peak";
        assert_eq!(told(one), told(other));
        assert_ne!(told(one), told(&one.replace("3.38", "3.39")));
    }
}
