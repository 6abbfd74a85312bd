//! Any bytes in the state of a lab while a program runs in it: its calls succeed or are refused, never a
//! panic, a crash or a wait without end.
#![no_main]

use std::{
    cell::RefCell,
    fs::{self, File},
    os::{
        fd::{FromRawFd, OwnedFd},
        unix::fs::FileExt,
    },
    path::PathBuf,
    sync::Mutex,
};

use libfuzzer_sys::fuzz_target;
use whyoom_lab_core::{
    driver::{Driver, Physical},
    machine::{DeviceSpec, Effect, KernelEffect, Machine, MachineSpec, Membership, SharedMemory},
    models::MODELS,
};

const UNIT: u64 = 2 << 20;
/// A machine stays mapped for ever, so that not every one can be opened.
const MOST_OPENED: u32 = 2000;
/// A page that was written in exported memory stays as long as this process.
const MOST_WRITTEN: u32 = 50_000;

/// A lab with this process in it.
struct Lab {
    path: PathBuf,
    file: File,
    /// The state when nobody had written anything.
    sound: Vec<u8>,
    machine: Machine,
    driver: Driver,
    attempts: u32,
    written: u32,
}

impl Lab {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("whyoom-fuzz-{}-lab", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("state");
        let device = DeviceSpec::of(&MODELS[0]).with_total(1 << 30);
        let kernel = "nothing".to_owned();
        let spec = MachineSpec {
            devices: vec![device; 2],
            effects: vec![KernelEffect { kernel, effect: Effect::Busy(1000) }],
            ..MachineSpec::default()
        };
        let machine = Machine::create(&path, &spec).unwrap();
        keep(machine);
        let driver = Driver::on(machine, &[0, 1], None).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let sound = fs::read(&path).unwrap();
        Self { path, file, sound, machine, driver, attempts: 0, written: 0 }
    }

    fn reset(&self) {
        self.file.write_all_at(&self.sound, 0).unwrap();
    }
}

/// What a machine is made of lasts as long as the process, and must be seen to be in use until its end.
fn keep(machine: Machine) {
    static KEPT: Mutex<Vec<Machine>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap().push(machine);
}

/// The bytes as choices, one after the other; zeros behind their end.
struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn number(&mut self, width: usize) -> u64 {
        self.bytes(width).iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// What a run has of the lab.
#[derive(Default)]
struct Held {
    members: Vec<Membership>,
    shared: Vec<(Membership, SharedMemory)>,
    handles: Vec<u64>,
    exports: Vec<OwnedFd>,
}

fn step(lab: &mut Lab, held: &mut Held, choices: &mut Choices<'_>) {
    let (machine, choice) = (lab.machine, choices.number(1));
    let device = (choice >> 4) as usize % 3;
    let member = held.members.last().copied();
    match choice % 16 {
        // Another's bytes.
        0..=3 => {
            let place = choices.number(3) % lab.sound.len() as u64;
            let count = (choices.number(1) as usize).min(lab.sound.len() - place as usize);
            lab.file.write_all_at(choices.bytes(count), place).unwrap();
        }
        // Everywhere the same.
        4 => {
            let word = choices.number(8).to_ne_bytes();
            lab.file.write_all_at(&word.repeat(lab.sound.len() / 8), 0).unwrap();
        }
        5 => held.members.extend(machine.join()),
        6 => held.members.extend(machine.join_ghost(choices.number(4) as u32)),
        7 => {
            if let Some(member) = member {
                let bytes = choices.number(5);
                if machine.charge(member, device, bytes).is_ok() && choice & 128 != 0 {
                    machine.refund(member, device, bytes.wrapping_mul(3));
                }
                machine.set_context(member, device, choice & 64 != 0);
            }
        }
        8 => {
            let used = machine.used(device);
            assert!(used <= 1 << 50, "no device has so much");
            let _ = machine.holders(device).iter().map(|holder| holder.bytes).sum::<u64>();
        }
        9 => {
            if let Some(member) = member {
                let shared = machine.share(member, device, choices.number(8), 7, 0);
                held.shared.extend(shared.map(|shared| (member, shared)));
            }
        }
        10 => {
            if let Some(member) = member
                && let Ok(shared) = machine.hold(member, choices.number(1), choices.number(1))
            {
                assert!(shared.device < machine.device_count());
                held.shared.push((member, shared));
            }
        }
        11 => {
            if let Some((member, shared)) = held.shared.pop() {
                machine.let_go(member, shared);
            }
        }
        12 => {
            let _ = (machine.must_fail(), machine.effects(), machine.observations());
            assert!(machine.device(device).is_ok() == (device < 2));
            assert!(machine.synchronize_nanoseconds() == 0);
        }
        13 if lab.attempts < MOST_OPENED => {
            lab.attempts += 1;
            if let Ok(other) = Machine::open(&lab.path) {
                assert!(other.device_count() <= 16);
                let _ = (other.effects(), other.used(0));
                keep(other);
            }
        }
        _ => drive(lab, held, device),
    }
}

/// Physical memory of a process, exported, imported and written.
fn drive(lab: &mut Lab, held: &mut Held, device: usize) {
    let driver = &mut lab.driver;
    let physical = Physical { device, size: UNIT, handle_types: 1 };
    let _ = driver.memory_info(device);
    let Ok(own) = driver.create(physical) else { return };
    held.handles.push(own);
    let Ok(descriptor) = driver.export(own) else { return };
    // SAFETY: the descriptor is new and nobody else's.
    held.exports.push(unsafe { OwnedFd::from_raw_fd(descriptor) });
    let Ok(imported) = driver.import(descriptor) else { return };
    held.handles.push(imported);
    let Ok(address) = driver.reserve(UNIT, 0) else { return };
    if driver.map(address, UNIT, 0, imported).is_ok() {
        lab.written += 1;
        if lab.written < MOST_WRITTEN {
            // SAFETY: within what was just mapped; behind it is a file that is long enough.
            unsafe { ((address + UNIT - 1) as *mut u8).write_volatile(7) };
        }
        driver.unmap(address, UNIT).unwrap();
    }
    driver.unreserve(address, UNIT).unwrap();
}

thread_local! {
    static LAB: RefCell<Option<Lab>> = const { RefCell::new(None) };
}

fuzz_target!(|bytes: &[u8]| {
    LAB.with_borrow_mut(|lab| {
        let lab = lab.get_or_insert_with(Lab::new);
        lab.reset();
        let (mut held, mut choices) = (Held::default(), Choices(bytes));
        held.members.extend(lab.machine.join());
        while !choices.0.is_empty() {
            step(lab, &mut held, &mut choices);
        }
        for handle in held.handles {
            let _ = lab.driver.release_handle(handle);
        }
    });
});
