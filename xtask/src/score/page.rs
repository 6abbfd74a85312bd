//! docs/dev/evidence/score.md and its picture.

use std::{fmt::Write as _, fs};

use anyhow::Result;

use harness::{root, score::SETS};

use super::{
    figures::{COLUMNS, Figures, summary},
    matrix::Matrix,
    row::Row,
    table,
    verdicts::without_folders,
};

const PAGE: &str = "docs/dev/evidence/score.md";
const PICTURE: &str = "docs/dev/evidence/score.svg";

const HEAD: &str = "\
# The examination

Written by `cargo xtask score --bless`, which runs every case of `tests/scenarios/examination` and
`tests/scenarios/practice`: a small real program on the [simulated GPU](../../lab.md), several processes, or a
text as people paste it, each with exactly one true cause, the bytes that it explains, the remedy that must
be named and the advice that must not. The examination was written from public threads before its authors
had read a rule; the practice set is what the rules were written with. A case fails where anything is wrong that
its table does not mark as missed, and where something that is marked is right: a mark excuses exactly what it
names. In each set 95 % of the causes must be right, and of the bytes within 5 %, with no false alarm.

**These figures are on cases that the rules have met.** At first sight, before any rule was changed by what it
showed, the examination's causes were right in 93 of 134 cases (69 %): 36 of 45 texts and states of machines, 20 of 35
programs, 37 of 54 later texts and programs, with no false alarm. Texts that nobody had seen were right in 34 of 87
(39 %) before the reader of texts was rebuilt in November 2026. Of 68 others, collected then by people who had not read a rule and run
once, it was right in 20 of the 46 that can be decided (43 %), named a wrong cause in 3, and said \"cannot tell\" or that it knows no message in the
other 23; what they taught is in the rules since, and those texts are practice cases now. Of 144 more, one half was right
in 29 of 63 (46 %) and the other, after the first half had been learned from, in 26 of 61 (43 %): single messages teach
little about the next. Then what people say around a message was read too, by one table of words: of 38 fresh texts it was
right in 20 of the 31 that can be decided (65 %), named a wrong cause in 1, could not tell in 6, and knew no message in
4. Two larger sets followed, each of people who had not read a rule and run once: 43 of 79 (54 %; a wrong cause in 3), and,
after those had been learned from, 20 of 35 (57 %; a wrong cause in 3). Together, since what people say is read:
**83 of the 145 that can be decided (57 %), a wrong cause in 7 (5 %)**. Where figures or a known message decide, it is
nearly always right; prose without them is what it does not understand. Of 22 fresh programs the cause was right in **18 (82 %)**; one fix was called proved, and it worked.
One truth of it was corrected: a program measured its libraries' bytes too late. The author of its last 54 cases
had seen remarks on verdicts of the practice set, though no rule and no verdict on a case of the examination.

A printed line counts as having worked where a machine applied it as it stands (a setting, another way to run,
a command, the value that `whyoom fit` finds), the program then ran to its end and was not judged the same
again. The author's own fix, where a case has one, is applied too: it shows that the truth of the case is true,
and says nothing about whyoom.

![Which cause was taken for which](score.svg)

";

/// Writes both.
pub(super) fn write(rows: &[Row]) -> Result<()> {
    fs::write(root().join(PICTURE), picture(&Matrix::of(rows)))?;
    let mut page = HEAD.to_owned();
    writeln!(page, "{}.\n", summary(rows))?;
    push_row(&mut page, &COLUMNS.map(str::to_owned))?;
    writeln!(page, "|{}", "---|".repeat(COLUMNS.len()))?;
    for set in SETS {
        push_row(&mut page, &Figures::of(rows.iter().filter(|one| one.case.set == *set)).row(set))?;
    }
    push_row(&mut page, &Figures::of(rows.iter()).row("all"))?;
    writeln!(page, "\n## Misses\n")?;
    push_misses(&mut page, rows)?;
    for set in SETS {
        writeln!(page, "\n## Cases of the set {set}\n")?;
        push_cases(&mut page, rows.iter().filter(|one| one.case.set == *set))?;
    }
    Ok(fs::write(root().join(PAGE), page)?)
}

fn push_row(page: &mut String, row: &[String]) -> Result<()> {
    Ok(writeln!(page, "| {} |", row.join(" | "))?)
}

fn push_misses(page: &mut String, rows: &[Row]) -> Result<()> {
    let misses: Vec<_> = rows.iter().filter(|one| !one.is_right()).collect();
    if misses.is_empty() {
        writeln!(page, "None.")?;
    }
    for one in misses {
        let why = one.case.miss.as_ref().map_or("not known", |miss| miss.why.as_str());
        let faults = without_folders(&table::faults(one).join("; "))?;
        writeln!(page, "- **{}**: {faults}. Why: {why}", one.case.name)?;
    }
    Ok(())
}

fn push_cases<'a>(page: &mut String, rows: impl Iterator<Item = &'a Row>) -> Result<()> {
    push_row(
        page,
        &["case", "from", "what happens", "cause", "bytes off", "printed line"].map(str::to_owned),
    )?;
    writeln!(page, "|---|---|---|---|---:|---|")?;
    for one in rows {
        let case = &one.case;
        let cause = match one.cause_is_right() {
            true => case.cause.clone(),
            false => format!("{}, said: {}", case.cause, one.cause()),
        };
        let off = one.scored.as_ref().and_then(|scored| scored.grade.bytes_off);
        let off = off.map_or(String::new(), |off| format!("{:.1} %", off * 100.0));
        let worked = match one.line_worked() {
            Some(true) => "applied, worked",
            Some(false) => "applied in vain",
            None => "",
        };
        let story = case.story.replace('|', "\\|").replace('\n', " ");
        let row = [&case.name, &case.from, &story, &cause, &off, &worked.to_owned()];
        push_row(page, &row.map(String::clone))?;
    }
    Ok(())
}

/// Side of a square of the picture.
const CELL: usize = 22;
const LEFT: usize = 150;
const TOP: usize = 130;

/// The matrix: true causes down, what was said across.
fn picture(matrix: &Matrix) -> String {
    let side = matrix.causes.len() * CELL;
    let (width, height) = (LEFT + side + 20, TOP + side + 20);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"8\" y=\"18\" font-size=\"13\">down: what is true; across: what was said</text>\n"
    );
    for (index, cause) in matrix.causes.iter().enumerate() {
        let at = index * CELL;
        let (x, y) = (LEFT + at + 15, TOP + at + 15);
        svg += &format!("<text x=\"{}\" y=\"{y}\" text-anchor=\"end\">{cause}</text>\n", LEFT - 6);
        let above = TOP - 6;
        svg += &format!("<text transform=\"translate({x},{above}) rotate(-60)\">{cause}</text>\n");
    }
    for (row, truth) in matrix.causes.iter().enumerate() {
        for (column, said) in matrix.causes.iter().enumerate() {
            svg += &cell(matrix.count(truth, said), row, column);
        }
    }
    svg + "</svg>\n"
}

fn cell(count: usize, row: usize, column: usize) -> String {
    let (x, y) = (LEFT + column * CELL, TOP + row * CELL);
    let (fill, ink) = match (count, row == column) {
        (0, true) => ("#e8f0ea", "#666666"),
        (0, false) => ("#f6f6f6", "#666666"),
        (_, true) => ("#2e7d4f", "#ffffff"),
        (_, false) => ("#c0392b", "#ffffff"),
    };
    let side = CELL - 2;
    let square =
        format!("<rect x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\" fill=\"{fill}\"/>\n");
    if count == 0 {
        return square;
    }
    let (x, y) = (x + side / 2, y + 14);
    square
        + &format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"{ink}\">{count}</text>\n"
        )
}
