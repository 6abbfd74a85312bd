//! A device as programs read it.

use serde::Serialize;
use whyoom_trace::DeviceId;

/// A device's ordinal, the word `host`, or null where it is not known.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum DeviceJson {
    Ordinal(u16),
    Host(&'static str),
    Unknown(()),
}

impl From<DeviceId> for DeviceJson {
    fn from(device: DeviceId) -> Self {
        match device {
            DeviceId::HOST => Self::Host("host"),
            DeviceId::UNKNOWN => Self::Unknown(()),
            DeviceId(ordinal) => Self::Ordinal(ordinal),
        }
    }
}
