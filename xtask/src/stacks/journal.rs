//! What was measured before, kept: all programs take an hour, and a machine may go away meanwhile.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use harness::{Build, root, scratch, stamp_of};

use super::{cell::Cell, table::Program, way::Way};

/// Where the programs are.
const SCRIPTS: &str = "tests/scenarios/stacks/programs/";

/// The cells that were measured with the same binaries and the same table.
pub(super) struct Journal {
    folder: PathBuf,
    stamp: String,
}

impl Journal {
    pub(super) fn open(build: &Build) -> Result<Self> {
        let stamp = stamp_of(&build.shipped().collect::<Vec<_>>())?;
        Ok(Self { folder: scratch("stacks-journal")?, stamp })
    }

    /// What was measured; nothing where it was not, or with others.
    pub(super) fn cell(&self, program: &Program, way: Way) -> Option<Cell> {
        let text = fs::read_to_string(self.file(program, way)).ok()?;
        let (stamp, cell) = serde_json::from_str::<(String, Cell)>(&text).ok()?;
        (stamp == self.stamp_of(program).ok()?).then_some(cell)
    }

    pub(super) fn keep(&self, program: &Program, way: Way, cell: &Cell) -> Result<()> {
        let text = serde_json::to_string(&(self.stamp_of(program)?, cell))?;
        Ok(fs::write(self.file(program, way), text)?)
    }

    /// The binaries, the program, and what it runs with.
    fn stamp_of(&self, program: &Program) -> Result<String> {
        let packages = format!("tests/requirements/{}.txt", program.environment);
        let files = ["models.py", &program.script].map(|file| SCRIPTS.to_owned() + file);
        let texts = files
            .into_iter()
            .chain([packages])
            .map(|file| fs::read_to_string(root().join(&file)).with_context(|| file.clone()));
        Ok(format!("{}{program:?}{:?}", self.stamp, texts.collect::<Result<Vec<_>>>()?))
    }

    fn file(&self, program: &Program, way: Way) -> PathBuf {
        self.folder.join(format!("{}-{}.json", program.name, way.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::table::read;

    #[test]
    fn what_was_measured_otherwise_is_measured_again() {
        let program = read().unwrap().programs.swap_remove(0);
        let folder = harness::empty_folder("stacks-journal-test").unwrap();
        let journal = Journal { folder: folder.clone(), stamp: "one".to_owned() };
        let cell = Cell::Green { seconds: 1.0, said: "fits".to_owned() };
        journal.keep(&program, Way::Fit, &cell).unwrap();
        assert_eq!(journal.cell(&program, Way::Fit), Some(cell));
        assert_eq!(journal.cell(&program, Way::Lab), None);
        let other = Program { gpus: 7, ..program.clone() };
        assert_eq!(journal.cell(&other, Way::Fit), None);
        assert_eq!(Journal { folder, stamp: "two".to_owned() }.cell(&program, Way::Fit), None);
    }
}
