//! Error correction, retired pages and remapped rows lower the capacity.

use whyoom_trace::Bytes;

use crate::{
    products::usual_total,
    report::{Suspicion, SuspicionKind},
    scene::Scene,
};

/// Less than this share missing (in per cent) is a difference between drivers.
const NOTICEABLE: u64 = 4;
/// Error correction takes a sixteenth, an eighth on old products. Where more is missing it is another
/// product of the same name, or a part of one: nothing follows.
const EXPLICABLE: u64 = 13;
/// What one retired page takes.
const PAGE: u64 = 64 << 10;
/// Failures that tell of memory errors: uncorrectable, retired or remapped, contained and not.
const MEMORY_XIDS: &[u32] = &[48, 63, 64, 92, 94, 95];

pub(crate) fn check(scene: &Scene<'_>) -> Option<Suspicion> {
    let missing = missing(scene);
    let pages = scene.device.retired_pages.unwrap_or_default();
    let rows = scene.device.remapped_rows.unwrap_or_default();
    if missing.is_none() && pages == 0 && rows == 0 {
        return None;
    }
    let headline = match missing {
        Some(bytes) => {
            format!("{} has {} less memory than its product", scene.gpu(), Bytes(bytes))
        }
        None => {
            format!("{} has given up memory for errors: {pages} pages, {rows} rows", scene.gpu())
        }
    };
    Some(Suspicion {
        kind: SuspicionKind::LostCapacity,
        headline,
        because: because(scene, missing, pages, rows),
        bytes: missing.or(Some(u64::from(pages) * PAGE)).filter(|bytes| *bytes > 0),
        command: missing.and_then(|_| command(scene)),
        pids: Vec::new(),
    })
}

/// What is missing from the product's memory, where error correction may explain it.
fn missing(scene: &Scene<'_>) -> Option<u64> {
    let usual = usual_total(&scene.device.name)?;
    let missing = usual.checked_sub(scene.device.memory.total)?;
    let share = missing.saturating_mul(100) / usual;
    (NOTICEABLE..=EXPLICABLE).contains(&share).then_some(missing)
}

fn because(scene: &Scene<'_>, missing: Option<u64>, pages: u32, rows: u32) -> String {
    let mut parts = Vec::new();
    if missing.is_some() {
        parts.push(format!(
            "the driver says {} in all, and {} usually shows {}",
            Bytes(scene.device.memory.total),
            scene.device.name,
            Bytes(usual_total(&scene.device.name).unwrap_or_default())
        ));
        parts.push(match scene.device.ecc {
            Some(ecc) if ecc.enabled => "error correction (ECC) is on, which takes a sixteenth; \
                turning it off needs a reset and gives up the protection"
                .to_owned(),
            Some(_) => "error correction (ECC) is off, so that is not why".to_owned(),
            None => {
                "error correction (ECC) takes a sixteenth; the driver does not say whether it is on"
                    .to_owned()
            }
        });
    }
    if pages > 0 {
        parts.push(format!("{pages} pages were retired ({})", Bytes(u64::from(pages) * PAGE)));
    }
    if rows > 0 {
        parts.push(format!("{rows} rows were remapped after uncorrectable errors"));
    }
    parts.extend(failures(scene));
    parts.join("; ") + ". No process holds it."
}

/// What the kernel's log says of memory errors on this device.
fn failures(scene: &Scene<'_>) -> Option<String> {
    let bus = scene.device.bus_id.to_ascii_lowercase();
    let here = |seen: &str| !seen.is_empty() && bus.contains(&seen.to_ascii_lowercase());
    let count = scene.capture.xids.as_ref()?.iter();
    let count = count.filter(|xid| MEMORY_XIDS.contains(&xid.number) && here(&xid.bus)).count();
    (count > 0).then(|| format!("the kernel log has {count} memory errors of it (Xid)"))
}

fn command(scene: &Scene<'_>) -> Option<String> {
    let on = scene.device.ecc.is_some_and(|ecc| ecc.enabled);
    on.then(|| format!("sudo nvidia-smi -i {} --ecc-config=0", scene.device.index))
}
