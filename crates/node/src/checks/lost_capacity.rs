//! Error correction, retired pages and remapped rows lower the capacity.

use whyoom_trace::Bytes;

use crate::{
    products::usual_total,
    report::{Suspicion, SuspicionKind},
    scene::{CheckContext, counted},
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

pub(crate) fn check(scene: &CheckContext<'_>) -> Option<Suspicion> {
    let missing = missing(scene);
    let pages = scene.device.retired_pages.unwrap_or_default();
    let rows = scene.device.remapped_rows.unwrap_or_default();
    if missing.is_none() && pages == 0 && rows == 0 {
        return None;
    }
    let headline = match missing {
        Some(bytes) => {
            format!("{} has {} less memory than its model", scene.gpu(), Bytes(bytes))
        }
        None => {
            let lost = [(pages, "page"), (rows, "row")].into_iter().filter(|(count, _)| *count > 0);
            let lost: Vec<String> = lost.map(|(count, one)| counted(count as usize, one)).collect();
            format!("{} has lost memory to errors: {}", scene.gpu(), lost.join(", "))
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
fn missing(scene: &CheckContext<'_>) -> Option<u64> {
    let usual = usual_total(&scene.device.name)?;
    let missing = usual.checked_sub(scene.device.memory.total)?;
    let share = missing.saturating_mul(100) / usual;
    (NOTICEABLE..=EXPLICABLE).contains(&share).then_some(missing)
}

fn because(scene: &CheckContext<'_>, missing: Option<u64>, pages: u32, rows: u32) -> String {
    let mut parts = Vec::new();
    if missing.is_some() {
        parts.push(format!(
            "the driver reports {} in total, and {} usually has {}",
            Bytes(scene.device.memory.total),
            scene.device.name,
            Bytes(usual_total(&scene.device.name).unwrap_or_default())
        ));
        parts.push(match scene.device.ecc {
            Some(ecc) if ecc.enabled => {
                "ECC is on, which takes a sixteenth of GDDR memory; turning it off needs a \
                                         reset and removes the protection"
                    .to_owned()
            }
            Some(_) => "ECC is off, so that is not the reason".to_owned(),
            None => {
                "ECC takes a sixteenth of GDDR memory; the driver does not report whether it is on"
                    .to_owned()
            }
        });
    }
    if pages > 0 {
        parts.push(format!(
            "{} {} retired ({})",
            counted(pages as usize, "page"),
            was(pages),
            Bytes(u64::from(pages) * PAGE)
        ));
    }
    if rows > 0 {
        parts.push(format!(
            "{} {} remapped after uncorrectable errors",
            counted(rows as usize, "row"),
            was(rows)
        ));
    }
    parts.extend(failures(scene));
    parts.join("; ") + ". No process holds it."
}

fn was(count: u32) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// What the kernel's log says of memory errors on this device.
fn failures(scene: &CheckContext<'_>) -> Option<String> {
    let bus = scene.device.bus_id.to_ascii_lowercase();
    let here = |seen: &str| !seen.is_empty() && bus.contains(&seen.to_ascii_lowercase());
    let count = scene.capture.xids.as_ref()?.iter();
    let count = count.filter(|xid| MEMORY_XIDS.contains(&xid.number) && here(&xid.bus)).count();
    let errors = counted(count, "memory error");
    (count > 0).then(|| format!("the kernel log has {errors} for it (Xid)"))
}

fn command(scene: &CheckContext<'_>) -> Option<String> {
    let on = scene.device.ecc.is_some_and(|ecc| ecc.enabled);
    on.then(|| format!("sudo nvidia-smi -i {} --ecc-config=0", scene.device.index))
}
