//! What is said when memory has run out.

use whyoom_trace::Bytes;

use crate::{device::DevicePool, driver::Driver};

/// In PyTorch's own sentences, which people and tools know, and with what the pool knows beyond them.
pub(crate) fn for_torch(pool: &DevicePool, requested: u64) -> String {
    let figures = Figures::of(pool);
    let Figures { total, free, limit, allocated, idle, .. } = figures;
    let limit = limit.map_or(String::new(), |limit| format!("{limit} allowed; "));
    format!(
        "CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity of {total} of which \
         {free} is free. {limit}Of the allocated memory {allocated} is allocated by PyTorch, and \
         {idle} is reserved by PyTorch but unallocated. (whyoom's pool: {})",
        Bytes(requested),
        pool.index,
        judged(&figures, requested)
    )
}

/// In plain words.
pub(crate) fn plain(pool: &DevicePool, requested: u64) -> String {
    let figures = Figures::of(pool);
    let Figures { total, free, allocated, idle, .. } = figures;
    format!(
        "out of memory: {} was requested. GPU {} has {total}, of which {free} is free; the pool has \
         {allocated} allocated and {idle} idle. {}",
        Bytes(requested),
        pool.index,
        judged(&figures, requested)
    )
}

struct Figures {
    total: Bytes,
    free: Bytes,
    limit: Option<Bytes>,
    allocated: Bytes,
    idle: Bytes,
    outside: Bytes,
}

impl Figures {
    fn of(pool: &DevicePool) -> Self {
        let statistics = pool.statistics();
        let (total, free) = (pool.total(), pool.driver.free().unwrap_or(0));
        Self {
            total: Bytes(total),
            free: Bytes(free),
            limit: pool.cap().map(Bytes),
            allocated: Bytes(statistics.allocated),
            idle: Bytes(statistics.reserved.saturating_sub(statistics.allocated)),
            outside: Bytes(total.saturating_sub(free).saturating_sub(statistics.reserved)),
        }
    }
}

/// Why, and what helps. The pool moves idle pages to where they are needed: what it lacks then is not
/// a matter of where things lie.
fn judged(figures: &Figures, requested: u64) -> String {
    let Figures { total, free, limit, allocated, idle, outside } = *figures;
    // A cap above what the device can give is not what was met.
    let limit = limit.filter(|limit| limit.0 < allocated.0 + idle.0 + free.0);
    if requested > total.0 {
        return format!("this one request is larger than the device, {total}: split it.");
    }
    if let Some(limit) = limit {
        return format!(
            "the process is limited to {limit}, of which {allocated} is allocated: raise the limit, \
             or use less."
        );
    }
    if outside > allocated {
        return format!(
            "{outside} of the device is outside the pool: other processes, contexts, libraries. \
             whyoom who lists what holds it; only {allocated} is allocated here."
        );
    }
    format!(
        "its idle pages serve any request, so no allocator setting will help. {allocated} is \
         allocated, and {outside} is outside the pool: contexts, libraries, other processes \
         (whyoom who lists them). Reduce what is allocated: whyoom why on the recording shows what \
         it is."
    )
}
