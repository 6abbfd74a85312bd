//! The JSON Schema of every document that a command prints, as docs/json.md explains them in words.

/// A schema: an entry of [`SCHEMAS`].
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// Its name: that in a document's `schema`, without `whyoom.` before it.
    pub name: &'static str,
    /// What prints such a document.
    pub printed_by: &'static str,
    /// The schema, of draft 2020-12.
    pub text: &'static str,
}

/// Every schema.
pub const SCHEMAS: &[Schema] = &[
    Schema {
        name: "why",
        printed_by: "whyoom why --json, whyoom run --json FILE",
        text: include_str!("../schemas/why.json"),
    },
    Schema {
        name: "attach",
        printed_by: "whyoom attach --json",
        text: include_str!("../schemas/attach.json"),
    },
    Schema {
        name: "report",
        printed_by: "whyoom report --json",
        text: include_str!("../schemas/report.json"),
    },
    Schema {
        name: "diff",
        printed_by: "whyoom diff --json",
        text: include_str!("../schemas/diff.json"),
    },
    Schema {
        name: "replay",
        printed_by: "whyoom replay --json",
        text: include_str!("../schemas/replay.json"),
    },
    Schema {
        name: "fit",
        printed_by: "whyoom fit --json",
        text: include_str!("../schemas/fit.json"),
    },
    Schema {
        name: "who",
        printed_by: "whyoom who --json",
        text: include_str!("../schemas/who.json"),
    },
    Schema {
        name: "doctor",
        printed_by: "whyoom doctor --json",
        text: include_str!("../schemas/doctor.json"),
    },
    Schema {
        name: "causes",
        printed_by: "whyoom causes --json",
        text: include_str!("../schemas/causes.json"),
    },
    Schema {
        name: "lab.models",
        printed_by: "whyoom lab list --json",
        text: include_str!("../schemas/lab.models.json"),
    },
    Schema {
        name: "lab.calibration",
        printed_by: "whyoom lab calibrate --json",
        text: include_str!("../schemas/lab.calibration.json"),
    },
];
