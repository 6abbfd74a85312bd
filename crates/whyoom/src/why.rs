//! `whyoom why`.

use std::{
    fs::File,
    io::{self, IsTerminal, Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use whyoom_allocators::workload::{Run, Workloads};
use whyoom_causes::{judge, prove};
use whyoom_memory::Model;
use whyoom_report::{Answer, Input, InputKind, write_verdict, write_verdict_json};
use whyoom_sources::{oom_text, torch_snapshot};
use whyoom_trace::Tables;

use crate::{
    arguments::WhyArguments,
    input::{FIRST_BYTES, kind_of},
    progress::ProgressReader,
    terminal::width,
};

pub(crate) fn run(arguments: &WhyArguments) -> Result<()> {
    let (mut model, mut tables) = (Model::default(), Tables::default());
    let standard_input = [PathBuf::from("-")];
    let files = if arguments.files.is_empty() { &standard_input[..] } else { &arguments.files[..] };
    let inputs =
        files.iter().map(|file| read(file, &mut model, &mut tables)).collect::<Result<Vec<_>>>()?;

    let mut verdict = judge(&model, &tables);
    if verdict.has_provable_remedies() {
        prove(&mut verdict, &recorded_runs(files, &inputs, &mut tables)?);
    }
    let answer = Answer { verdict: &verdict, model: &model, tables: &tables, inputs: &inputs };
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    if arguments.json {
        write_verdict_json(&answer, &mut out)?;
    } else {
        write_verdict(&answer, width(), &mut out)?;
    }
    out.flush()?;
    Ok(())
}

/// The runs that snapshots hold, read once more: few verdicts need them, and they are large.
fn recorded_runs(files: &[PathBuf], inputs: &[Input], tables: &mut Tables) -> Result<Vec<Run>> {
    let mut workloads = Workloads::default();
    for (path, input) in files.iter().zip(inputs) {
        let process = tables.process_named(&input.name);
        if let (InputKind::TorchSnapshot, Some(process)) = (input.kind, process)
            && path != Path::new("-")
        {
            torch_snapshot::import(File::open(path)?, process, tables, &mut workloads)?;
        }
    }
    Ok(workloads.into_runs())
}

fn read(path: &Path, model: &mut Model, tables: &mut Tables) -> Result<Input> {
    if path == Path::new("-") {
        if io::stdin().is_terminal() {
            anstream::eprintln!("Paste the traceback, then press Ctrl-D.");
        }
        return import(io::stdin().lock(), None, "standard input", model, tables);
    }
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    let metadata = file.metadata().with_context(|| format!("cannot read {name}"))?;
    anyhow::ensure!(!metadata.is_dir(), "{name} is a folder; name the files in it");
    import(file, Some(metadata.len()), &name, model, tables)
}

fn import(
    reader: impl Read,
    length: Option<u64>,
    name: &str,
    model: &mut Model,
    tables: &mut Tables,
) -> Result<Input> {
    let mut reader = ProgressReader::new(reader, length, name);
    let context = || format!("cannot read {name}");
    let mut first_bytes = Vec::new();
    reader.by_ref().take(FIRST_BYTES).read_to_end(&mut first_bytes).with_context(context)?;
    let kind = kind_of(&first_bytes).with_context(context)?;
    let whole = first_bytes.chain(reader);
    let notes = match kind {
        InputKind::TorchSnapshot => import_snapshot(whole, name, model, tables),
        InputKind::Text => import_text(whole, name, model, tables),
    };
    Ok(Input { name: name.to_owned(), kind, notes: notes.with_context(context)? })
}

fn import_snapshot(
    reader: impl Read,
    name: &str,
    model: &mut Model,
    tables: &mut Tables,
) -> Result<Vec<String>> {
    let process = tables.process(name);
    let summary = torch_snapshot::import(reader, process, tables, model)?;
    let contradiction = (summary.contradictions > 0).then(|| {
        format!(
            "its history and its state disagree about {} blocks; figures over time may be off",
            summary.contradictions
        )
    });
    Ok(contradiction.into_iter().collect())
}

fn import_text(
    reader: impl Read,
    name: &str,
    model: &mut Model,
    tables: &mut Tables,
) -> Result<Vec<String>> {
    let summary = oom_text::scan(reader, name, tables, model)?;
    let passed_over = (summary.passed_over > 0).then(|| {
        format!("{} more lines looked like messages and were passed over", summary.passed_over)
    });
    Ok(passed_over.into_iter().collect())
}
