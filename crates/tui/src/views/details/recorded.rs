//! What the recorder inside it says.

use whyoom_trace::Bytes;

use super::{OwnLine, Subject};

/// Places beyond these are left to the verdict.
const SHOWN: usize = 8;

pub(super) fn lines(subject: &Subject<'_>) -> Vec<OwnLine> {
    let Some(recorded) = &subject.entry.holder.recorded else { return Vec::new() };
    let (allocated, reserved) = (Bytes(recorded.allocated), Bytes(recorded.reserved));
    let held = if reserved == Bytes::ZERO {
        format!("{} allocated from the driver", Bytes(recorded.driver))
    } else {
        format!("{allocated} allocated of {reserved} reserved")
    };
    let mut lines = subject.field("recorded", &held);
    for (row, place) in recorded.places.iter().take(SHOWN).enumerate() {
        let label = if row == 0 { "asked at" } else { "" };
        let text = format!("{:>10}  {}", Bytes(place.bytes).to_string(), place.place);
        lines.extend(subject.field(label, &text));
    }
    lines.extend(subject.field("folder", &recorded.folder));
    lines
}
