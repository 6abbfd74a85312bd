//! Random calls against a model that only adds and subtracts: whatever a program does, the device
//! has in use exactly what the live things take.
#![expect(clippy::unwrap_used, reason = "a test says what it expects by unwrapping")]

use std::collections::HashMap;

use proptest::prelude::*;
use whyoom_lab_core::{
    Error,
    driver::{Driver, Physical, PoolAttribute},
    machine::{DeviceSpec, Machine, MachineSpec},
    models::{self, GpuModel},
};

const MIB: u64 = 1 << 20;
const TOTAL: u64 = 2048 * MIB;

/// A driver on a small device of its own, with a context.
struct Lab {
    folder: std::path::PathBuf,
    machine: Machine,
    driver: Driver,
    context: u64,
    model: &'static GpuModel,
}

impl Lab {
    fn new() -> Self {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("whyoom-test-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        let model = models::find(models::DEFAULT).unwrap();
        let device = DeviceSpec::of(model).with_total(TOTAL);
        let spec = MachineSpec { devices: vec![device], ..MachineSpec::default() };
        let machine = Machine::create(&folder.join("state"), &spec).unwrap();
        let mut driver = Driver::on(machine, &[0], None).unwrap();
        let context = driver.retain_primary(0).unwrap();
        driver.set_current(context).unwrap();
        Self { folder, machine, driver, context, model }
    }

    fn used_beside_context(&self) -> u64 {
        self.machine.used(0) - self.model.context.value
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[derive(Clone, Debug)]
enum Call {
    Alloc(u64),
    Free(usize),
    AllocAsync(u64),
    FreeAsync(usize),
    Synchronize,
    Trim(u64),
    Create(u64),
    Map(usize),
    Unmap(usize),
    Release(usize),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let size = prop_oneof![1..4096_u64, 4096..4 * MIB, 4 * MIB..600 * MIB];
    let which = 0..usize::MAX;
    let call = prop_oneof![
        size.clone().prop_map(Call::Alloc),
        which.clone().prop_map(Call::Free),
        size.prop_map(Call::AllocAsync),
        which.clone().prop_map(Call::FreeAsync),
        Just(Call::Synchronize),
        (0..64 * MIB).prop_map(Call::Trim),
        (1..64_u64).prop_map(|pages| Call::Create(pages * 2 * MIB)),
        which.clone().prop_map(Call::Map),
        which.clone().prop_map(Call::Unmap),
        which.prop_map(Call::Release),
    ];
    prop::collection::vec(call, 1..120)
}

/// What is live, by the model's reckoning.
#[derive(Default)]
struct Live {
    large: HashMap<u64, u64>,
    small: HashMap<u64, u64>,
    pooled: Vec<u64>,
    /// Handles by their size, and whether the program still has them.
    handles: Vec<(u64, u64, bool)>,
    /// Address, size and handle of mappings.
    mapped: Vec<(u64, u64, u64)>,
}

fn nth<T>(list: &[T], which: usize) -> Option<usize> {
    (!list.is_empty()).then(|| which % list.len())
}

fn step(lab: &mut Lab, live: &mut Live, call: &Call) {
    let (context, driver) = (lab.context, &mut lab.driver);
    let stream = driver.stream(context, 0).unwrap();
    match *call {
        Call::Alloc(size) => {
            let Ok(address) = driver.alloc(context, size) else { return };
            let small = size <= lab.model.small_limit.value;
            let live = if small { &mut live.small } else { &mut live.large };
            assert_eq!(live.insert(address, size), None, "an address given twice");
        }
        Call::Free(which) => {
            let addresses: Vec<u64> = live.large.keys().chain(live.small.keys()).copied().collect();
            let Some(index) = nth(&addresses, which) else { return };
            driver.free(context, addresses[index]).unwrap();
            live.large.remove(&addresses[index]);
            live.small.remove(&addresses[index]);
            assert_eq!(driver.free(context, addresses[index]), Err(Error::InvalidValue));
        }
        Call::AllocAsync(size) => {
            let pool = driver.default_pool(0).unwrap();
            live.pooled.extend(driver.alloc_async(context, pool, stream, size));
        }
        Call::FreeAsync(which) => {
            let Some(index) = nth(&live.pooled, which) else { return };
            driver.free_async(context, stream, live.pooled.swap_remove(index)).unwrap();
        }
        Call::Synchronize => {
            driver.synchronized(context, whyoom_trace::SyncScope::Device).unwrap();
        }
        Call::Trim(keep) => {
            let pool = driver.default_pool(0).unwrap();
            driver.trim_pool(pool, keep).unwrap();
        }
        Call::Create(size) => {
            let physical = Physical { device: 0, size, handle_types: 0 };
            let Ok(handle) = driver.create(physical) else { return };
            live.handles.push((handle, size, true));
        }
        Call::Map(which) => {
            let Some(index) = nth(&live.handles, which) else { return };
            let (handle, size, owned) = live.handles[index];
            if owned {
                let address = driver.reserve(size, 0).unwrap();
                driver.map(address, size, 0, handle).unwrap();
                assert_eq!(driver.map(address, size, 0, handle), Err(Error::InvalidValue));
                live.mapped.push((address, size, handle));
            }
        }
        Call::Unmap(which) => {
            let Some(index) = nth(&live.mapped, which) else { return };
            let (address, size, _) = live.mapped.swap_remove(index);
            driver.unmap(address, size).unwrap();
            driver.unreserve(address, size).unwrap();
        }
        Call::Release(which) => {
            let Some(index) = nth(&live.handles, which) else { return };
            if live.handles[index].2 {
                driver.release_handle(live.handles[index].0).unwrap();
                live.handles[index].2 = false;
            }
        }
    }
}

fn check(lab: &Lab, live: &Live) {
    let model = lab.model;
    let pool = lab.driver.default_pool(0).unwrap();
    let reserved = lab.driver.pool_attribute(pool, PoolAttribute::Reserved).unwrap();
    let large = |size: &u64| size.next_multiple_of(model.granularity.value);
    let large: u64 = live.large.values().map(large).sum();
    let is_mapped = |handle: u64| live.mapped.iter().any(|(_, _, mapped)| *mapped == handle);
    let alive = live.handles.iter().filter(|(handle, _, owned)| *owned || is_mapped(*handle));
    let physical: u64 = alive.map(|(_, size, _)| size).sum();
    let slabs = lab.used_beside_context() - large - physical - reserved;
    let small: u64 =
        live.small.values().map(|size| size.next_multiple_of(model.small_unit.value)).sum();
    assert!(slabs.is_multiple_of(model.slab.value) && slabs >= small, "{slabs} for {small}");
    assert_eq!(slabs == 0, live.small.is_empty(), "a slab goes when its last place does");
    assert!(lab.machine.used(0) <= TOTAL);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_in_use_is_what_the_live_things_take(calls in calls()) {
        let mut lab = Lab::new();
        let mut live = Live::default();
        for call in &calls {
            step(&mut lab, &mut live, call);
            check(&lab, &live);
        }
        lab.driver.reset_primary(0).unwrap();
        for (address, size, _) in live.mapped {
            lab.driver.unmap(address, size).unwrap();
        }
        for (handle, _, owned) in live.handles {
            if owned {
                lab.driver.release_handle(handle).unwrap();
            }
        }
        prop_assert_eq!(lab.machine.used(0), 0, "the end of a context gives everything back");
    }
}

#[test]
fn misuse_is_answered_as_documented() {
    let mut lab = Lab::new();
    let (context, driver) = (lab.context, &mut lab.driver);
    assert_eq!(driver.alloc(context, 0), Err(Error::InvalidValue));
    assert_eq!(driver.alloc(context, TOTAL + 1), Err(Error::OutOfMemory));
    assert_eq!(driver.free(context, 12345), Err(Error::InvalidValue));
    assert_eq!(driver.alloc(99, 1), Err(Error::InvalidContext));
    let address = driver.alloc(context, 4 * MIB).unwrap();
    assert_eq!(driver.free(context, address + 1), Err(Error::InvalidValue), "not its start");
    assert_eq!(
        driver.copy(context, address, address + 2 * MIB, 3 * MIB, 0),
        Err(Error::InvalidValue)
    );
    driver.free(context, address).unwrap();
    let outside = [0_u8; 16];
    let gone = driver.copy(context, address, outside.as_ptr() as u64, 16, 0);
    assert_eq!(gone, Err(Error::InvalidValue), "freed memory is no target");
    let second = driver.create_context(0, 0).unwrap();
    let foreign = driver.create_stream(second, true, 0).unwrap();
    assert_eq!(driver.stream(context, foreign), Err(Error::InvalidHandle), "of another context");
    let event = driver.create_event(context, true).unwrap();
    assert_eq!(driver.record_event(event, foreign), Err(Error::InvalidHandle));
}

#[test]
fn a_failed_kernel_shows_at_the_next_wait_and_ends_the_context() {
    let folder = std::env::temp_dir().join(format!("whyoom-test-effect-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let model = models::find(models::DEFAULT).unwrap();
    let effect = whyoom_lab_core::machine::KernelEffect {
        kernel: "hungry".to_owned(),
        effect: whyoom_lab_core::machine::Effect::HeapExhausted,
    };
    let spec = MachineSpec {
        devices: vec![DeviceSpec::of(model)],
        effects: vec![effect],
        ..MachineSpec::default()
    };
    let machine = Machine::create(&folder.join("state"), &spec).unwrap();
    let mut driver = Driver::on(machine, &[0], None).unwrap();
    let context = driver.retain_primary(0).unwrap();
    driver.set_current(context).unwrap();
    let module = driver.load_module(Some(context), whyoom_lab_core::image::Image::Bundle);
    let function = driver.function(module, "_Z6hungryPi").unwrap();
    let launch = whyoom_lab_core::driver::Launch {
        function,
        grid: [1, 1, 1],
        block: [32, 1, 1],
        shared: 0,
        stream: 0,
    };
    assert_eq!(driver.launch(context, &launch), Ok(()), "a launch does not wait");
    assert_eq!(driver.current(), Ok(context));
    let waited = driver.synchronized(context, whyoom_trace::SyncScope::Device);
    assert_eq!(waited, Err(Error::IllegalAddress));
    assert_eq!(driver.current(), Err(Error::IllegalAddress), "and from then on");
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn the_end_of_a_context_gives_its_blocks_back_to_the_pool() {
    let mut lab = Lab::new();
    let driver = &mut lab.driver;
    let second = driver.create_context(0, 0).unwrap();
    let (pool, stream) = (driver.default_pool(0).unwrap(), driver.stream(second, 0).unwrap());
    driver.alloc_async(second, pool, stream, MIB).unwrap();
    driver.destroy_context(second).unwrap();
    driver.trim_pool(pool, 0).unwrap();
    assert_eq!(lab.used_beside_context(), 0);
}

#[test]
fn exports_do_not_use_a_device_up() {
    use std::os::fd::{FromRawFd, OwnedFd};
    let mut lab = Lab::new();
    for round in 0..64 {
        let physical = Physical { device: 0, size: 256 * MIB, handle_types: 1 };
        let handle = lab.driver.create(physical).unwrap_or_else(|error| panic!("{round}: {error}"));
        // SAFETY: the descriptor is new and nobody else's.
        drop(unsafe { OwnedFd::from_raw_fd(lab.driver.export(handle).unwrap()) });
        lab.driver.release_handle(handle).unwrap();
    }
    assert_eq!(lab.used_beside_context(), 0);
}
