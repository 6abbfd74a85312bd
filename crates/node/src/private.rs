//! A capture as it may be kept or sent: `ps` shows command lines to whoever is on the machine, a file is read
//! elsewhere.

use whyoom_redact::{mask, program_name};

use crate::capture::{Capture, Process};

impl Capture {
    /// The same, with no more of other users' command lines than which program it is, and without secrets in
    /// those of this user.
    #[must_use]
    pub fn private(mut self) -> Self {
        let own = self.viewer.uid;
        for process in &mut self.processes {
            let is_own = own.is_some() && process.uid == own;
            hide(process, is_own);
        }
        self
    }
}

fn hide(process: &mut Process, is_own: bool) {
    let shown = |command: &String| match is_own {
        true => mask(command).into_owned(),
        false => program_name(command),
    };
    process.command = process.command.as_ref().map(shown);
    // Nobody knows whose it is: a session's owner may have become another.
    if let Some(parent) = &mut process.kin.seen_parent {
        parent.command = parent.command.as_deref().map(program_name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Viewer;

    #[test]
    fn others_keep_their_arguments_to_themselves() {
        let process = |uid| Process {
            uid,
            command: Some("/bin/python train.py --lr 1 --token abc".to_owned()),
            ..Process::default()
        };
        let viewer = Viewer { uid: Some(7), ..Viewer::default() };
        let processes = [Some(7), Some(8), None].map(process).to_vec();
        let shown = Capture { viewer, processes, ..Capture::default() }.private().processes;
        let shown: Vec<_> = shown.iter().filter_map(|one| one.command.as_deref()).collect();
        let own = "/bin/python train.py --lr 1 --token ***";
        assert_eq!(shown, [own, "python train.py", "python train.py"]);
    }

    #[test]
    fn without_a_user_everybody_is_another() {
        let process = Process { command: Some("a b".to_owned()), ..Process::default() };
        let capture = Capture { processes: vec![process], ..Capture::default() }.private();
        assert_eq!(capture.processes[0].command.as_deref(), Some("a"));
    }
}
