//! One process, read once.

use std::collections::BTreeMap;

use whyoom_redact::mask_words;

use super::{
    environ,
    root::{Existence, Root},
    stat::Stat,
    status::Status,
    threads::{self, Budget},
};
use crate::capture::{Kin, Process, Relative};

/// What a command line is cut to: programs put whole documents there.
const LONGEST_COMMAND: usize = 4096;

/// Reads processes, and keeps their relatives: many share a parent and a session.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    root: &'a Root,
    existence: Existence,
    relatives: BTreeMap<u32, Option<Relative>>,
    lives: BTreeMap<u32, Option<bool>>,
    pub(crate) budget: Budget,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(root: &'a Root, existence: Existence) -> Self {
        Self {
            root,
            existence,
            relatives: BTreeMap::new(),
            lives: BTreeMap::new(),
            budget: Budget::default(),
        }
    }

    /// The process, without what it has open; `None` where it has no entry.
    pub(crate) fn read(&mut self, pid: u32) -> Option<Process> {
        let root = self.root;
        let stat = Stat::parse(&root.text(format!("{pid}/stat"))?)?;
        let status = Status::parse(&root.text(format!("{pid}/status")).unwrap_or_default());
        let threads = threads::read(root, pid, &stat, &mut self.budget);
        // A first thread that has ended has given up its memory, where the command line is kept.
        let living = threads.iter().find(|thread| stat.ended() && !thread.ended());
        let folder = living.map_or(pid.to_string(), |thread| format!("{pid}/task/{}", thread.tid));
        Some(Process {
            pid,
            started_ticks: Some(stat.started_ticks),
            uid: status.uid,
            ignores_hangup: status.ignores_hangup,
            command: command(root, &folder),
            environment: environ::parse(
                &root.text(format!("{folder}/environ")).unwrap_or_default(),
            ),
            kin: self.kin(pid, &stat),
            threads,
            cgroup: root.text(format!("{pid}/cgroup")).map(|text| text.trim_end().to_owned()),
            pid_namespace: root.namespace(format!("{pid}/ns/pid")),
            name: Some(stat.name),
            ..Process::default()
        })
    }

    fn kin(&mut self, pid: u32, stat: &Stat) -> Kin {
        let (root, existence) = (self.root, self.existence);
        let mut lives = |leader| {
            let known = || lives(root, leader, existence);
            if leader == pid { Some(true) } else { *self.lives.entry(leader).or_insert_with(known) }
        };
        let (session_leader_lives, group_leader_lives) = (lives(stat.session), lives(stat.group));
        let parent =
            self.relatives.entry(stat.parent).or_insert_with(|| relative(root, stat.parent));
        Kin {
            parent: Some(stat.parent),
            session: Some(stat.session),
            group: Some(stat.group),
            seen_parent: parent.clone(),
            session_leader_lives,
            group_leader_lives,
        }
    }
}

/// The command line of a process or of one of its threads, without secrets: people share what they see.
fn command(root: &Root, folder: &str) -> Option<String> {
    let raw = root.text(format!("{folder}/cmdline"))?;
    let words: Vec<&str> = raw.trim_end_matches('\0').split('\0').collect();
    let text = mask_words(&words).join(" ");
    let cut = text.floor_char_boundary(LONGEST_COMMAND);
    let text = text.get(..cut)?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn relative(root: &Root, pid: u32) -> Option<Relative> {
    let stat = Stat::parse(&root.text(format!("{pid}/stat"))?)?;
    Some(Relative {
        pid,
        command: command(root, &pid.to_string()),
        name: stat.name,
        session: stat.session,
        group: stat.group,
        started_ticks: stat.started_ticks,
    })
}

/// Whether a process lives. One that has ended and waits to be collected does not.
fn lives(root: &Root, pid: u32, existence: Existence) -> Option<bool> {
    if pid == 0 {
        return None;
    }
    match root.text(format!("{pid}/stat")).as_deref().and_then(Stat::parse) {
        Some(stat) => Some(!stat.ended() || stat.threads > 1),
        // It may exist and be hidden from this user.
        None => existence(pid),
    }
}
