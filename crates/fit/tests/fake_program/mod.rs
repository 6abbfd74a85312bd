//! A program that is not run: its requests follow from its tensors.

use whyoom_allocators::{Item, Request, Run, Step, Workload};
use whyoom_trace::{Address, Bytes, PoolId, StackId, StreamId};

/// A tensor: bytes that are always there, bytes for each unit of the value, and how long it lives.
pub(crate) type Tensor = (u64, u64, usize);

/// A training loop that makes these tensors in order, each freed so many tensors later.
pub(crate) fn program(tensors: &[Tensor], value: u64) -> Run {
    let mut workload = Workload::default();
    let mut ends: Vec<(usize, Item)> = Vec::new();
    for round in 0..3 {
        for (index, (fixed, each, life)) in tensors.iter().enumerate() {
            let now = round * tensors.len() + index;
            for (_, item) in ends.extract_if(.., |(end, _)| *end <= now) {
                workload.steps.push(Step::Free { item });
            }
            let item = Item(workload.items);
            workload.items += 1;
            let size = fixed + each * value;
            let request =
                Request { size: size.max(1), stream: StreamId(0), pool: PoolId::default() };
            workload.steps.push(Step::Alloc {
                item,
                request,
                address: Address(0),
                size: Bytes(size),
                stack: StackId::default(),
            });
            ends.push((now + life, item));
        }
    }
    Run { workload, ..Run::default() }
}
