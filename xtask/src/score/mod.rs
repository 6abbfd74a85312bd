//! `cargo xtask score`: the examination of the explainer. Every case of `tests/scenarios` is run and
//! judged, and what was said is compared with what is true.
//!
//! `--only NAME,…` and `--set SET` choose cases; `--bless` writes docs/score.md, its picture, and
//! docs/verdicts.md, one real answer for each cause.

mod answer;
mod case;
mod figures;
mod grade;
mod matrix;
mod page;
mod remedy;
mod served;
mod stage;
mod table;
mod trial;
mod truth;
mod verdicts;

use std::{
    collections::VecDeque,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use self::{
    case::{Case, SETS},
    figures::Figures,
    grade::Grade,
    stage::Stage,
    trial::Tried,
};

/// So many run at a time.
const WORKERS: usize = 2;

/// The primary cause, and the bytes where they are known, must be right in so many cases; no other may be missed
/// without a reason in its table.
const ACCURACY_BAR: f64 = 0.95;
/// The whole corpus may take so long.
const TIME_BAR: Duration = Duration::from_secs(15 * 60);
/// What the corpus must have, so that it stays one.
const CASES_BAR: usize = 100;
const HEALTHY_BAR: usize = 20;
const UNKNOWN_BAR: usize = 10;
const EACH_BAR: usize = 3;

/// A case with what came of it.
struct Scored {
    case: Case,
    grade: Grade,
    /// The error's words, where it could not be tried.
    tried: Result<Tried, String>,
}

impl Scored {
    /// The cause that was named.
    fn cause(&self) -> &str {
        self.tried.as_ref().map_or("(failed)", |tried| &tried.answer.cause)
    }

    fn worked(&self) -> Option<bool> {
        self.tried.as_ref().ok()?.worked
    }

    fn time(&self) -> Duration {
        self.tried.as_ref().map_or(Duration::ZERO, |tried| tried.time)
    }

    /// Whether it is as it should be, and its remedy works where it was applied.
    fn is_right(&self) -> bool {
        self.grade.is_right() && self.worked() != Some(false)
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let wish = Wish::of(arguments)?;
    let cases: Vec<Case> = case::all()?.into_iter().filter(|case| wish.wants(case)).collect();
    ensure!(!cases.is_empty(), "no case is called so");
    let stage = Stage::prepare(&cases)?;
    let started = Instant::now();
    let scored = score_all(&stage, cases);
    let time = started.elapsed();
    table::print(&scored);
    if wish.bless {
        page::write(&scored, time)?;
        verdicts::write(&stage, &scored)?;
    }
    if wish.is_all() {
        is_corpus(&scored)?;
        served::check(&stage, &scored, wish.bless)?;
    }
    hold_bars(&scored, time)?;
    println!("score: {}", summary(&scored, time));
    Ok(())
}

/// What was asked for.
#[derive(Default)]
struct Wish {
    names: Vec<String>,
    set: Option<String>,
    bless: bool,
}

impl Wish {
    fn of(arguments: &[String]) -> Result<Self> {
        let mut wish = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} names nothing"));
            match word.as_str() {
                "--only" => wish.names = value()?.split(',').map(str::to_owned).collect(),
                "--set" => wish.set = Some(value()?.clone()),
                "--bless" => wish.bless = true,
                other => anyhow::bail!("{other}: --only NAME,… --set SET --bless"),
            }
        }
        Ok(wish)
    }

    fn wants(&self, case: &Case) -> bool {
        let named = self.names.is_empty() || self.names.contains(&case.name);
        named && self.set.as_ref().is_none_or(|set| case.set == set)
    }

    fn is_all(&self) -> bool {
        self.names.is_empty() && self.set.is_none()
    }
}

/// Tries all, some at a time; in the order of the tables.
fn score_all(stage: &Stage, cases: Vec<Case>) -> Vec<Scored> {
    let queue: Mutex<VecDeque<(usize, Case)>> = Mutex::new(cases.into_iter().enumerate().collect());
    let done = Mutex::new(Vec::new());
    let next = || queue.lock().ok()?.pop_front();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((index, case)) = next() {
                    let scored = score(stage, case);
                    table::print_case(&scored);
                    if let Ok(mut done) = done.lock() {
                        done.push((index, scored));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, scored)| scored).collect()
}

fn score(stage: &Stage, case: Case) -> Scored {
    let tried = trial::run(stage, &case).map_err(|error| format!("{error:#}"));
    let grade = tried.as_ref().map_or_else(|_| Grade::default(), |tried| Grade::of(&case, tried));
    Scored { case, grade, tried }
}

/// The corpus is as large and as varied as it must be.
fn is_corpus(scored: &[Scored]) -> Result<()> {
    let count = |cause: &str| scored.iter().filter(|one| one.case.cause == cause).count();
    ensure!(scored.len() >= CASES_BAR, "{} cases are too few", scored.len());
    ensure!(count("healthy") >= HEALTHY_BAR, "too few healthy runs");
    ensure!(count("unknown") >= UNKNOWN_BAR, "too few that cannot be told");
    for cause in whyoom_causes::CATALOGUE {
        ensure!(count(cause.id) >= EACH_BAR, "too few cases of {}", cause.id);
    }
    let examined = scored.iter().filter(|one| one.case.set == SETS[0]).count();
    ensure!(examined * 3 >= scored.len(), "the examination is less than a third");
    Ok(())
}

/// Every bar, of each set and of all.
fn hold_bars(scored: &[Scored], time: Duration) -> Result<()> {
    for set in SETS {
        let figures = Figures::of(scored.iter().filter(|one| one.case.set == *set));
        if figures.cases > 0 {
            hold_bar(&figures).with_context(|| format!("the set {set}"))?;
        }
    }
    let unexplained: Vec<&str> = scored
        .iter()
        .filter(|one| !one.is_right() && one.case.miss.is_none())
        .map(|one| one.case.name.as_str())
        .collect();
    ensure!(unexplained.is_empty(), "missed, and no table says why: {}", unexplained.join(", "));
    ensure!(time <= TIME_BAR, "it took {:.1} minutes", time.as_secs_f64() / 60.0);
    Ok(())
}

fn hold_bar(figures: &Figures) -> Result<()> {
    let accuracy = figures.accuracy();
    ensure!(accuracy >= ACCURACY_BAR, "the primary cause is right in {:.1} %", accuracy * 100.0);
    ensure!(figures.wrong == 0, "{} cases have wrong advice", figures.wrong);
    ensure!(figures.missing == 0, "{} cases lack advice", figures.missing);
    ensure!(figures.alarms == 0, "{} false alarms", figures.alarms);
    let (known, right) = figures.bytes;
    let enough = right as f64 >= known as f64 * ACCURACY_BAR;
    ensure!(enough, "the bytes are right in {right} of {known}");
    Ok(())
}

fn summary(scored: &[Scored], time: Duration) -> String {
    let share = |set: &str| {
        let figures = Figures::of(scored.iter().filter(|one| one.case.set == set));
        format!("{} of {} ({set})", figures.right, figures.cases)
    };
    let all = Figures::of(scored.iter());
    format!(
        "primary cause right in {}; wrong advice in {}, {} false alarms; {} of {} remedies applied \
         worked; {:.1} minutes",
        SETS.iter().map(|set| share(set)).collect::<Vec<_>>().join(", "),
        all.wrong,
        all.alarms,
        all.applied.1,
        all.applied.0,
        time.as_secs_f64() / 60.0
    )
}
