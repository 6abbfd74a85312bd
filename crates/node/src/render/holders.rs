//! The table of holders, and the words for each of its columns.

use std::io::{self, Write};

use whyoom_redact::{
    file_for_shell,
    terminal::{FAINT, HEADING, shortened, styled},
    visible,
};
use whyoom_trace::Bytes;

use crate::report::{DeviceReport, Holder, NodeReport, Origin, Recorded, State, Workload};

/// Holders beyond these are summed up; `--json` has all.
const LISTED: usize = 20;
/// A command shorter than this tells nothing: other columns go first.
const SHORTEST_COMMAND: usize = 24;
/// Ids are told apart by their first characters, as container tools print them.
const ID: usize = 12;

/// A column: its heading, whether numbers stand in it, and what it says.
struct Column {
    heading: &'static str,
    to_the_right: bool,
    cells: Vec<String>,
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        cells.max(self.heading.len())
    }

    fn cell(&self, text: &str) -> String {
        let width = self.width();
        if self.to_the_right { format!("{text:>width$}  ") } else { format!("{text:<width$}  ") }
    }
}

/// Writes the holders of a device, the most first.
pub(crate) fn write_table(
    report: &NodeReport,
    device: &DeviceReport,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let name = visible(&device.device.name);
    if device.holders.is_empty() {
        return writeln!(out, "{}", styled(FAINT, format!("  {name}: no process to list.")));
    }
    writeln!(out, "{}", styled(HEADING, format!("Holders on {name}")))?;
    let shown = &device.holders[..device.holders.len().min(LISTED)];
    let columns = columns(report, shown, width);
    let beside = 2 + taken(&columns) + SHORTEST_COMMAND <= width;
    // A command for which there is no room beside the columns stands below them.
    let between = if beside { "" } else { "\n    " };
    let left = if beside { 2 + taken(&columns) } else { 4 };
    let write_row = |out: &mut dyn Write, cells: &str, command: &str| {
        let text = shortened(command, width.saturating_sub(left).max(1));
        writeln!(out, "{}", format!("  {cells}{between}{text}").trim_end())
    };
    let heading: String = columns.iter().map(|column| column.cell(column.heading)).collect();
    let heading = if beside { format!("{heading}COMMAND") } else { heading };
    writeln!(out, "  {}", styled(FAINT, heading.trim_end()))?;
    for (row, holder) in shown.iter().enumerate() {
        let cells: String = columns.iter().map(|column| column.cell(&column.cells[row])).collect();
        let cells = if beside { cells } else { cells.trim_end().to_owned() };
        write_row(out, &cells, &without_folder(&holder_command(holder)))?;
        if let Some(recorded) = &holder.recorded {
            let line = format!("    {}", recorded_line(recorded));
            writeln!(out, "{}", styled(FAINT, shortened(&line, width)))?;
        }
    }
    let rest = &device.holders[shown.len()..];
    if !rest.is_empty() {
        let bytes: Bytes = rest.iter().filter_map(|holder| holder.bytes).map(Bytes).sum();
        writeln!(out, "  … and {} more with {bytes} (all of them: --json)", rest.len())?;
    }
    Ok(())
}

/// The columns before the command, without those that say nothing or that leave no room for it.
fn columns(report: &NodeReport, holders: &[Holder], width: usize) -> Vec<Column> {
    let column = |heading, to_the_right, cell: &dyn Fn(&Holder) -> String| Column {
        heading,
        to_the_right,
        cells: holders.iter().map(cell).collect(),
    };
    let mut columns = vec![
        column("PID", true, &|holder| holder.pid.to_string()),
        column("USER", false, &|holder| {
            visible(holder.user.as_deref().unwrap_or("-")).into_owned()
        }),
        column("MEMORY", true, &|holder| memory(holder.bytes)),
        column("AGE", true, &|holder| holder_age(holder, report.time)),
        column("STATE", false, &holder_state),
        column("WHERE", false, &holder_workload),
    ];
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty() && cell != "-"));
    for expendable in ["WHERE", "AGE", "USER"] {
        if 2 + taken(&columns) + SHORTEST_COMMAND > width {
            columns.retain(|column| column.heading != expendable);
        }
    }
    // The command can stand below the others, which need not be narrower then.
    if columns.len() > 2 && taken(&columns) > width {
        columns.retain(|column| column.heading != "STATE");
    }
    columns
}

fn taken(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.width() + 2).sum()
}

fn memory(bytes: Option<u64>) -> String {
    bytes.map_or("-".to_owned(), |bytes| Bytes(bytes).to_string())
}

/// Whose it is, in a sentence.
pub(crate) fn user(holder: &Holder) -> &str {
    let unknown = match holder.origin {
        Origin::Ghost => "a process that is not visible",
        Origin::Listed | Origin::HasDeviceOpen => "an unknown user",
    };
    holder.user.as_deref().unwrap_or(unknown)
}

/// How long it has run at a time in nanoseconds since 1970: `3.2 s`, `5.0 min`, `2.1 h`, `3.0 d`.
#[must_use]
pub fn holder_age(holder: &Holder, now: u64) -> String {
    let Some(started) = holder.started else { return "-".to_owned() };
    let seconds = now.saturating_sub(started) as f64 / 1e9;
    // 59.96 would print as 60.0: it belongs to the next unit.
    match seconds {
        s if s < 59.95 => format!("{s:.1} s"),
        s if s < 3597.0 => format!("{:.1} min", s / 60.0),
        s if s < 86220.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} d", s / 86400.0),
    }
}

/// What is odd about it, or that it runs.
pub(crate) fn holder_state(holder: &Holder) -> String {
    let mut words = Vec::new();
    match holder.origin {
        Origin::Listed => {}
        Origin::Ghost => words.push("not visible"),
        Origin::HasDeviceOpen => words.push("unlisted"),
    }
    if holder.orphan.is_some() {
        words.push("orphan");
    }
    match holder.state {
        Some(State::Stopped) => words.push("stopped"),
        Some(State::Stuck) => words.push("stuck"),
        Some(State::ZombieLeader) => words.push("zombie leader"),
        Some(State::Zombie) => words.push("zombie"),
        Some(State::Ordinary) if words.is_empty() => words.push("running"),
        Some(State::Ordinary) | None => {}
    }
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

/// The container, pod or job; nothing where it runs in none.
pub(crate) fn holder_workload(holder: &Holder) -> String {
    let short = |id: &str| visible(id).chars().take(ID).collect::<String>();
    match &holder.workload {
        Some(Workload::Container { id }) => format!("container {}", short(id)),
        Some(Workload::Pod { uid, .. }) => format!("pod {}", visible(uid)),
        Some(Workload::Slurm { job }) => format!("slurm job {}", visible(job)),
        None => String::new(),
    }
}

/// Returns what the recorder inside a process says of it, with the line that explains it. The folder is from the
/// environment of a process that may be another user's: a name that no shell can be given is left out with its line.
pub(crate) fn recorded_line(recorded: &Recorded) -> String {
    let held = match (Bytes(recorded.allocated), Bytes(recorded.reserved)) {
        (_, Bytes::ZERO) => format!("{} allocated from the driver", Bytes(recorded.driver)),
        (allocated, reserved) => format!("{allocated} allocated of {reserved} reserved"),
    };
    match file_for_shell(&recorded.folder) {
        Some(folder) => format!("recorded: {held}; whyoom why {folder}"),
        None => format!("recorded: {held}"),
    }
}

/// Its command; and its own name for itself first where that is another one, because that is what
/// `ps` and `pkill` know it by.
#[must_use]
pub fn holder_command(holder: &Holder) -> String {
    match (&holder.name, &holder.command) {
        (Some(name), Some(command)) if !command.contains(name.as_str()) => {
            visible(&format!("{name} ({command})")).into_owned()
        }
        (_, Some(command)) => visible(command).into_owned(),
        (Some(name), None) => visible(name).into_owned(),
        (None, None) => "-".to_owned(),
    }
}

/// The folder of an interpreter takes the room of what it runs.
pub(crate) fn without_folder(command: &str) -> String {
    let (program, arguments) = command.split_at(command.find(' ').unwrap_or(command.len()));
    let file =
        program.rsplit('/').next().filter(|file| !file.is_empty() && program.starts_with('/'));
    format!("{}{arguments}", file.unwrap_or(program))
}
