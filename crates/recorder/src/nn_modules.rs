//! Which module of a model is at work, as the program's start-up file tells.
//!
//! The file finds these functions by name. A module gets a number once; while one is at work, its number stands in a
//! cell of the thread, and every stack of the thread carries it. What blocks are (parameters, gradients, optimizer
//! state) is told after they were made.

use std::{
    ffi::{CStr, c_char},
    ptr, slice,
};

use whyoom_trace::{Action, Address, Bytes, DeviceId, FrameId, MODULE_FILE, ModuleRole};

use crate::{
    hook::{Family, Hook, Need},
    record::{self, Location, clock},
};

/// A longer name is cut off.
const LONGEST_NAME: usize = 512;
/// One call tells of no more blocks.
const MOST_LABELS: usize = 1 << 20;

static NAMED: Hook = hook(c"whyoom_recorder_module", "whyoom_recorder_module");
static LABELLED: Hook = hook(c"whyoom_recorder_label", "whyoom_recorder_label");

/// The hooks that stand for modules, for faults on demand.
pub(crate) static HOOKS: &[&Hook] = &[&NAMED, &LABELLED];

const fn hook(symbol: &'static CStr, name: &'static str) -> Hook {
    Hook::new(symbol, name, (0, 0), false, Need::Optional, Family::Mark, ptr::null())
}

/// The number of a module in a role, by which the two functions below name it; 0 where nothing is recorded.
///
/// # Safety
/// The name is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn whyoom_recorder_module(name: *const c_char, role: u32) -> u32 {
    if name.is_null() || ModuleRole::of_line(role).is_none() {
        return 0;
    }
    // SAFETY: the caller says so.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let Some(call) = record::enter(&NAMED) else { return 0 };
    let mut number = 0;
    call.after(Some(()), 0, |call, (), _| {
        let (part, names) = (&call.process.part, &call.process.names);
        if !part.has_room() {
            return;
        }
        let function = names.string(part, &name[..name.len().min(LONGEST_NAME)]);
        let file = names.string(part, MODULE_FILE.as_bytes());
        number = names.frame(part, function, file, role).0;
    });
    number
}

/// The cell of this thread: whatever number of a module is written there, stacks of the thread carry; 0 for none. It
/// stays as long as the thread.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_recorder_module_cell() -> *mut u32 {
    record::module_cell()
}

/// Tells what blocks of a device are: their addresses, what the tensors in them need, and the number of a module in a
/// role for each. How many were recorded comes back.
///
/// # Safety
/// The three arrays have `count` numbers.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn whyoom_recorder_label(
    device: u32,
    count: u32,
    addresses: *const u64,
    sizes: *const u64,
    modules: *const u32,
) -> u32 {
    let count = (count as usize).min(MOST_LABELS);
    let Ok(device) = u16::try_from(device) else { return 0 };
    if addresses.is_null() || sizes.is_null() || modules.is_null() {
        return 0;
    }
    let Some(call) = record::enter(&LABELLED) else { return 0 };
    // SAFETY: the caller says so.
    let addresses = unsafe { slice::from_raw_parts(addresses, count) };
    // SAFETY: as above.
    let sizes = unsafe { slice::from_raw_parts(sizes, count) };
    // SAFETY: as above.
    let modules = unsafe { slice::from_raw_parts(modules, count) };
    let mut recorded = 0;
    call.after(Some(()), 0, |call, (), _| {
        let location = Location::on(DeviceId(device));
        for ((&address, &size), &module) in addresses.iter().zip(sizes).zip(modules) {
            if module != 0 {
                let stack = call.process.stack_of_module(FrameId(module));
                let (address, requested) = (Address(address), Bytes(size));
                let action = Action::BlockLabel { address, requested };
                call.write(clock::now(), location, stack, 0, action);
                recorded += 1;
            }
        }
    });
    recorded
}
