//! What modules and optimizers tell of blocks, at once or after they were made.

use std::collections::BTreeMap;

use whyoom_memory::{Category, Model};
use whyoom_trace::{
    Action, Address, Bytes, DeviceId, Event, EventSink, ModuleRole, ProcessId, StackId, Tables,
};

#[derive(Default)]
struct Run {
    model: Model,
    tables: Tables,
}

impl Run {
    fn push(&mut self, stack: StackId, action: Action) {
        let event = Event { stack, action, ..Event::default() };
        self.model.event(&event, &self.tables);
    }

    fn alloc(&mut self, stack: StackId, address: u64, size: u64) {
        let (address, size) = (Address(address), Bytes(size));
        self.push(stack, Action::BlockAlloc { address, requested: size, size });
    }

    fn free(&mut self, address: u64) {
        self.push(StackId(0), Action::BlockFree { address: Address(address) });
    }

    fn label(&mut self, address: u64, name: &str, role: ModuleRole) {
        let frame = self.tables.module_frame(name, role);
        let label = self.tables.stack(&[frame]);
        let action = Action::BlockLabel { address: Address(address), requested: Bytes::ZERO };
        self.push(label, action);
    }

    fn backward(&mut self) -> StackId {
        let node = self.tables.frame_text("MmBackward0::apply", "libtorch_cpu.so", 0);
        self.tables.stack(&[node])
    }

    fn at_peak(&self) -> BTreeMap<Category, u64> {
        let space = self.model.space(ProcessId(0), DeviceId(0)).expect("it has memory");
        space.peak_by_category().into_iter().map(|(kind, usage)| (kind, usage.bytes.0)).collect()
    }
}

#[test]
fn what_is_told_after_the_peak_holds_for_the_peak() {
    let mut run = Run::default();
    let backward = run.backward();
    run.alloc(StackId(0), 1, 100);
    run.alloc(backward, 2, 30);
    run.alloc(backward, 3, 7);
    run.free(3);
    assert_eq!(run.at_peak().get(&Category::Gradients), Some(&37), "inferred");
    run.label(1, "Net.fc", ModuleRole::Parameter);
    run.label(2, "Net.fc", ModuleRole::Gradient);
    let expected =
        [(Category::Parameters, 100), (Category::Gradients, 30), (Category::Temporaries, 7)];
    assert_eq!(run.at_peak(), BTreeMap::from(expected));
}

#[test]
fn a_label_is_of_the_block_that_lies_there_now() {
    let mut run = Run::default();
    let backward = run.backward();
    run.alloc(StackId(0), 1, 100);
    run.free(1);
    run.alloc(backward, 1, 60);
    run.label(1, "Net.fc", ModuleRole::Gradient);
    run.label(9, "Net.fc", ModuleRole::Gradient);
    assert_eq!(run.at_peak(), BTreeMap::from([(Category::Unattributed, 100)]));
    let space = run.model.space(ProcessId(0), DeviceId(0)).expect("it has memory");
    let [sum] = space.live_sums()[..] else { panic!("one block is live") };
    let module = run.tables.module(sum.module_stack()).expect("it was told");
    assert_eq!((module.name, module.role), ("Net.fc", ModuleRole::Gradient));
    assert_eq!((sum.stack, sum.category), (backward, Category::Gradients));
}

#[test]
fn what_is_told_after_a_failure_holds_for_the_failure() {
    let mut run = Run::default();
    let backward = run.backward();
    run.alloc(backward, 2, 30);
    run.alloc(backward, 3, 7);
    run.push(StackId(0), Action::OutOfMemory { requested: Bytes(50) });
    run.label(2, "Net.fc", ModuleRole::Gradient);
    run.free(3);
    let incident = &run.model.incidents()[0];
    let kinds: Vec<_> = incident.live.iter().map(|sum| (sum.category, sum.usage.bytes.0)).collect();
    assert_eq!(kinds, [(Category::Gradients, 30), (Category::Temporaries, 7)]);
    // Later labels are of another time.
    run.alloc(backward, 4, 5);
    run.label(4, "Net.fc", ModuleRole::Gradient);
    run.free(2);
    assert_eq!(run.model.incidents()[0].live.len(), 2);
}
