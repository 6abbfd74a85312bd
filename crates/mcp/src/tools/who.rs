//! `who`: which processes hold GPU memory.

use std::{
    fmt::{self, Display},
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    amount::Amount,
    quoted::{quote_names, quoted},
    refusal::Refusal,
    room::Room,
    tool::{Rules, Tool},
    whyoom::Question,
};

pub(crate) struct Who;

/// Nothing: every GPU of this machine is told of.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {}

/// Who holds memory on this machine.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    gpus: Vec<Gpu>,
    /// How many there are in all
    gpus_in_all: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Gpu {
    /// The driver's index
    index: u32,
    name: String,
    total: Amount,
    free: Amount,
    /// What is wrong, and the command that helps
    suspicions: Vec<Suspicion>,
    /// The processes, the largest first
    holders: Vec<Holder>,
    /// How many there are in all
    holders_in_all: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Suspicion {
    headline: String,
    /// What to run
    paste: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Holder {
    pid: u32,
    /// null where the driver does not tell
    memory: Option<Amount>,
    user: Option<String>,
    /// The program's name, without its arguments
    program: Option<String>,
    /// Whether nobody waits for it any more
    orphan: bool,
}

/// The document of `whyoom who --json`, as far as it is told.
#[derive(Deserialize)]
struct Document {
    devices: Vec<Device>,
}

#[derive(Deserialize)]
struct Device {
    index: u32,
    name: String,
    total_bytes: i64,
    free_bytes: i64,
    suspicions: Vec<Suspected>,
    holders: Vec<Held>,
}

#[derive(Deserialize)]
struct Suspected {
    headline: String,
    command: Option<String>,
}

#[derive(Deserialize)]
struct Held {
    pid: u32,
    bytes: Option<i64>,
    user: Option<String>,
    name: Option<String>,
    orphan: bool,
}

impl Tool for Who {
    const NAME: &'static str = "who";
    const ABOUT: &'static str = "Show which processes hold GPU memory on this machine, which of them are orphans, and \
         how to free it. Executes nothing and ends nothing.";
    type Input = Input;
    type Answer = Answer;

    fn question(_: Input, rules: &Rules) -> Result<Question, Refusal> {
        let arguments = vec!["who".to_owned(), "--json".to_owned()];
        Ok(Question { arguments, ..rules.reading(Duration::from_secs(30)) })
    }

    fn answer(document: &Value, room: Room) -> serde_json::Result<Answer> {
        let Document { devices } = Document::deserialize(document)?;
        Ok(Answer {
            gpus: room.list(&devices, |device| gpu(device, room)),
            gpus_in_all: devices.len(),
        })
    }
}

fn gpu(device: &Device, room: Room) -> Gpu {
    let few = Room { items: room.items.min(3), ..room };
    let holders = device.holders.iter();
    let of_holder =
        holders.flat_map(|one| one.name.as_deref().into_iter().chain(one.user.as_deref()));
    let names: Vec<&str> = of_holder.collect();
    Gpu {
        index: device.index,
        name: room.text(&device.name),
        total: Amount::new(device.total_bytes),
        free: Amount::new(device.free_bytes),
        suspicions: few.list(&device.suspicions, |one| Suspicion {
            headline: room.text(&quote_names(&one.headline, &names)),
            paste: Room::paste(one.command.as_deref()),
        }),
        holders: room.list(&device.holders, |one| Holder {
            pid: one.pid,
            memory: one.bytes.map(Amount::new),
            user: room.maybe(one.user.as_deref()),
            program: room.maybe(one.name.as_deref()),
            orphan: one.orphan,
        }),
        holders_in_all: device.holders.len(),
    }
}

impl Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for gpu in &self.gpus {
            writeln!(out, "GPU {} ({}): {} of {} free", gpu.index, gpu.name, gpu.free, gpu.total)?;
            for Suspicion { headline, paste } in &gpu.suspicions {
                let paste = paste.as_ref().map_or(String::new(), |line| format!("; run: {line}"));
                writeln!(out, "  {headline}{paste}")?;
            }
            for one in &gpu.holders {
                let memory = one.memory.as_ref().map_or("unknown".to_owned(), Amount::to_string);
                let (user, program) = (one.user.as_deref(), one.program.as_deref());
                let orphan = if one.orphan { ", orphan" } else { "" };
                let (user, program) = (quoted(user.unwrap_or("?")), quoted(program.unwrap_or("?")));
                writeln!(out, "  {} {memory} {program} of {user}{orphan}", one.pid)?;
            }
            match gpu.holders_in_all - gpu.holders.len() {
                0 => {}
                more => writeln!(out, "  and {more} more: whyoom who in a terminal shows all")?,
            }
        }
        match self.gpus_in_all - self.gpus.len() {
            0 => Ok(()),
            more => writeln!(out, "and {more} more GPUs: whyoom who in a terminal shows all"),
        }
    }
}
