//! What a file is, told by its first bytes; what a folder is, by the files in it.

use std::path::Path;

use anyhow::{Result, bail};
use whyoom_report::InputKind;
use whyoom_sources::{recording::ENDING, torch_snapshot};

/// So many bytes tell what a file is.
pub(crate) const FIRST_BYTES: u64 = 512;

/// What an input is taken for, or why it cannot be read.
pub(crate) fn kind_of(first_bytes: &[u8]) -> Result<InputKind> {
    match first_bytes {
        [] => bail!("it is empty"),
        [0x1f, 0x8b, ..] => bail!("it is compressed with gzip; use: zcat FILE | whyoom why"),
        [b'P', b'K', 3, 4, ..] => bail!(
            "it is a zip archive, perhaps a checkpoint of torch.save; a memory snapshot comes from \
             torch.cuda.memory._dump_snapshot"
        ),
        _ if torch_snapshot::is_pickle(first_bytes) => Ok(InputKind::TorchSnapshot),
        // Windows' shell writes text with zeros in it, behind a mark.
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Ok(InputKind::Text),
        _ if first_bytes.contains(&0) => {
            bail!("it is neither text nor a pickle: a log, or a PyTorch memory snapshot, is needed")
        }
        _ => Ok(InputKind::Text),
    }
}

/// Whether a path is a folder that `whyoom run` wrote, though it may have recorded nothing.
pub(crate) fn is_recording(path: &Path) -> bool {
    has_recorded(path) || path.join(ENDING).is_file()
}

/// Whether a path is a folder that something was recorded into.
pub(crate) fn has_recorded(path: &Path) -> bool {
    let mut entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.any(|entry| {
        let name = entry.file_name();
        Path::new(&name).extension().is_some_and(|kind| kind == "part" || kind == "events")
    })
}
