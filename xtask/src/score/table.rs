//! The score as a terminal shows it.

use super::{
    Scored,
    case::SETS,
    figures::{COLUMNS, Figures},
    matrix::Matrix,
};

/// A case as soon as it is known: what is wrong with it, if anything.
pub(super) fn print_case(scored: &Scored) {
    let mark = match (scored.is_right(), &scored.case.miss) {
        (true, None) => "ok  ",
        (true, Some(_)) => "ok! ",
        (false, None) => "MISS",
        (false, Some(_)) => "miss",
    };
    let seconds = scored.time().as_secs_f64();
    println!("{mark} {:<40} {:<18} {seconds:>5.1} s", scored.case.name, scored.cause());
    for line in faults(scored) {
        println!("       {line}");
    }
}

/// What is wrong with an answer, a line each.
pub(super) fn faults(scored: &Scored) -> Vec<String> {
    let (case, grade) = (&scored.case, &scored.grade);
    let tried = match &scored.tried {
        Ok(tried) => tried,
        Err(error) => return vec![format!("could not be tried: {error}")],
    };
    let mut lines = Vec::new();
    if !grade.cause {
        lines.push(format!("it is {}; said was: {}", case.cause, tried.answer.headline));
    } else if let Some(off) = grade.bytes_off.filter(|_| !grade.bytes_are_right()) {
        let named = tried.answer.bytes.map_or("none".to_owned(), |bytes| bytes.to_string());
        lines.push(format!("the bytes are {:.1} % off: {named} were named", off * 100.0));
    }
    let mut list = |what: &str, texts: &[String]| {
        lines.extend(texts.iter().map(|text| format!("{what}: {text}")));
    };
    if grade.cause {
        list("not advised", &grade.missing);
    }
    list("wrongly advised", &grade.wrong);
    list("not said to be true too", &grade.untold);
    if scored.worked() == Some(false) {
        lines.push("the remedy did not work".to_owned());
    }
    lines
}

/// Everything, when all are known.
pub(super) fn print(scored: &[Scored]) {
    println!("\n{}", Matrix::of(scored).text());
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    for set in SETS {
        rows.push(Figures::of(scored.iter().filter(|one| one.case.set == *set)).row(set));
    }
    rows.push(Figures::of(scored.iter()).row("all"));
    for row in rows {
        let [set, cause, bytes, wrong, missing, alarms, applied, time] = row;
        println!(
            "{set:<12} {cause:<22} {bytes:<17} {wrong:<13} {missing:<15} {alarms:<13} {applied:<26} {time}"
        );
    }
}
