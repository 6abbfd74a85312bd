//! Who it is.

use whyoom_node::Origin;

use super::{OwnLine, Subject};
use crate::{views::table, wording};

pub(super) fn lines(subject: &Subject<'_>) -> Vec<OwnLine> {
    let holder = subject.entry.holder;
    let mut lines = subject.field("command", &table::command(&subject.entry));
    let mut add = |label: &str, value: Option<String>| {
        lines.extend(value.map(|value| subject.field(label, &value)).unwrap_or_default());
    };
    add("name", holder.name.clone());
    add("user", Some(holder.user.clone().unwrap_or_else(|| "cannot be read from here".to_owned())));
    let age = |since| format!("{} ago", wording::age(since, subject.report.time));
    add("started", holder.started.map(age));
    add("parent", holder.parent.map(|parent| parent.to_string()));
    add("state", Some(subject.entry.standing().sentence().to_owned()));
    add("runs in", holder.workload.as_ref().map(wording::workload));
    let own = |own| if own { "yes, and it is yours" } else { "yes, another user's" };
    add("orphan", holder.orphan.map(|orphan| own(orphan.own).to_owned()));
    add("known", Some(origin(holder.origin).to_owned()));
    lines
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Listed => "the driver lists it",
        Origin::Ghost => "the driver lists it, but it is not visible from here",
        Origin::HasDeviceOpen => "it has the device open; the driver does not list it",
    }
}
