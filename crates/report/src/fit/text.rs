//! The answer for people, as text.

use std::io::{self, Write};

use whyoom_redact::terminal::{Table, wrap};
use whyoom_trace::Bytes;

use super::{
    answer::{
        FitAnswer, FitFrontier, FitFrontierRow, FitGeneration, FitGpu, FitLargest, FitNote,
        FitPeak, FitPoint, FitSetting, FitTokens, FitTokensPoint, FitVary,
    },
    headline::qualified,
    tables::{frontier_table, generation_table, largest_table, table},
    words::short_name,
};
use crate::{
    frontier_chart::FrontierChart,
    screen::Screen,
    style::{self, styled},
    text::printable,
    value_chart::{Limit, ValueChart},
};

/// Writes the answer for people.
pub fn write_fit(answer: &FitAnswer, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    let width = screen.width;
    writeln!(out, "{}\n", styled(style::HEADLINE, wrap(&qualified(answer), width, "")))?;
    if let Some(vary) = &answer.vary {
        write_vary(vary, screen, out)?;
    } else if let Some(frontier) = &answer.frontier {
        write_frontier(frontier, screen, out)?;
    } else {
        write_lines(&table(&answer.gpus), width, out)?;
        write_failures(&answer.gpus, width, out)?;
        write_settings(&answer.gpus, width, out)?;
    }
    if let Some(generation) = &answer.generation {
        write_generation(generation, screen, out)?;
    }
    answer.peaks.first().map_or(Ok(()), |peak| write_peak(peak, width, out))?;
    for assertion in &answer.assertions {
        let holds = if assertion.holds { "holds" } else { "DOES NOT HOLD" };
        let line = format!("assert {}: {holds} ({})", assertion.text, assertion.found);
        writeln!(out, "{}", wrap(&line, width, ""))?;
    }
    if !answer.assertions.is_empty() {
        writeln!(out)?;
    }
    write_notes(&answer.notes, width, out)
}

/// Wrapped behind the word that says how sure each is.
fn write_notes(notes: &[FitNote], width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", styled(style::HEADING, "Confidence"))?;
    let options = textwrap::Options::new(width).subsequent_indent("            ");
    for note in notes {
        let line = printable(&format!("  {:<9} {}", note.kind, note.text));
        writeln!(out, "{}", textwrap::fill(&line, &options))?;
    }
    Ok(())
}

fn write_lines(table: &Table, width: usize, out: &mut dyn Write) -> io::Result<()> {
    for line in table.lines(width) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)
}

/// Why there is no answer for a device.
fn write_failures(gpus: &[FitGpu], width: usize, out: &mut dyn Write) -> io::Result<()> {
    for gpu in gpus {
        let Some(failure) = &gpu.failure else { continue };
        let line = format!("On {} the program {}", short_name(gpu.name), printable(failure));
        writeln!(out, "{}\n", wrap(&line, width, "  "))?;
    }
    Ok(())
}

/// How memory grows with the tokens, and up to how many fit.
fn write_generation(
    generation: &FitGeneration,
    screen: Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_lines(&generation_table(generation), screen.width, out)?;
    let limit = |largest: &FitTokens| Limit {
        gpu: short_name(largest.gpu),
        room: largest.room_bytes,
        largest: Some(largest.new_tokens).filter(|tokens| *tokens > 0),
    };
    let limits = generation.largest.iter().map(limit).collect();
    let point = |point: &FitTokensPoint| (point.new_tokens, point.peak_allocated_bytes);
    let curve: Vec<_> = generation.curve.iter().map(point).collect();
    write_chart(
        &ValueChart { name: "new tokens", curve: &curve, limits, runs: &[] }.lines(screen),
        out,
    )
}

fn write_chart(lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out)
}

fn write_settings(gpus: &[FitGpu], width: usize, out: &mut dyn Write) -> io::Result<()> {
    for gpu in gpus {
        let Some(with) = setting_for_all(gpu) else { continue };
        let (name, reserved) = (short_name(gpu.name), Bytes(with.peak_reserved_bytes));
        let mut effect =
            format!("makes it fit on {name}: replayed with it, PyTorch reserves {reserved}");
        for left_out in &with.without {
            effect.push_str(&format!("; without {left_out}"));
        }
        writeln!(out, "  {}", styled(style::PASTE, &with.paste))?;
        writeln!(out, "{}\n", wrap(&effect, width, "      "))?;
    }
    Ok(())
}

/// The one setting that makes every process fit that does not.
fn setting_for_all(gpu: &FitGpu) -> Option<&FitSetting> {
    let shortfall = || gpu.processes.iter().filter(|process| !process.fits);
    let settings: Vec<&FitSetting> =
        shortfall().map(|process| process.fits_with.as_ref()).collect::<Option<_>>()?;
    let same = settings.windows(2).all(|pair| pair[0].setting == pair[1].setting);
    settings.into_iter().max_by_key(|with| with.peak_reserved_bytes).filter(|_| same)
}

fn write_peak(peak: &FitPeak, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", styled(style::HEADING, "At the peak"))?;
    writeln!(out, "{}", wrap(&format!("reached by {}", peak.place), width, "  "))?;
    let line = |bytes: u64, text: &str| wrap(text, width, &format!("  {:>10}  ", Bytes(bytes)));
    for kind in &peak.kinds {
        writeln!(out, "{}", line(kind.bytes, &kind.name))?;
    }
    for module in &peak.modules {
        let line = line(module.bytes, &format!("of module {}", module.name));
        writeln!(out, "{}", styled(style::FAINT, line))?;
    }
    for place in &peak.places {
        let line = line(place.bytes, &format!("of {}", place.name));
        writeln!(out, "{}", styled(style::FAINT, line))?;
    }
    writeln!(out)
}

fn write_vary(vary: &FitVary, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    write_lines(&largest_table(vary), screen.width, out)?;
    let limit = |largest: &FitLargest| Limit {
        gpu: short_name(largest.gpu),
        room: largest.room_bytes,
        largest: largest.value,
    };
    let limits = vary.largest.iter().map(limit).collect();
    let point = |point: &FitPoint| (point.value, point.peak_reserved_bytes);
    let curve: Vec<_> = vary.curve.iter().map(point).collect();
    let name = &printable(&vary.name);
    write_chart(&ValueChart { name, curve: &curve, limits, runs: &vary.runs }.lines(screen), out)
}

fn write_frontier(frontier: &FitFrontier, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    write_lines(&frontier_table(frontier), screen.width, out)?;
    let row = |row: &FitFrontierRow| {
        let values: Vec<String> = row.values.iter().map(u64::to_string).collect();
        (values.join(","), row.largest.iter().map(|largest| largest.value).collect())
    };
    let gpus = frontier.rows.iter().take(1).flat_map(|row| &row.largest);
    let chart = FrontierChart {
        name: &printable(&frontier.name),
        by: &printable(&frontier.by.join(",")),
        gpus: gpus.map(|largest| short_name(largest.gpu)).collect(),
        rows: frontier.rows.iter().map(row).collect(),
    };
    write_chart(&chart.lines(screen), out)
}
