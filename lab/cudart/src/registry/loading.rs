//! Registered device code in contexts: modules, functions and variables.

use std::{ffi::c_void, ptr};

use cudarc::driver::sys::{CUcontext, CUdeviceptr, CUfunction, CUmodule};

use super::table::{Address, Binary, Named, Registered, Registry, in_context, read, write};
use crate::{context::Current, error::Failure, graph};

/// A variable in a context.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    pub address: CUdeviceptr,
    pub size: usize,
}

/// The function of the current context that a registered kernel is.
pub fn function(current: &Current, stub: *const c_void) -> Result<CUfunction, Failure> {
    let stub = Address::of(stub);
    let context = Address::of(current.context);
    let known = read().functions.get(&stub).map(|function| in_context(&function.loaded, context));
    if let Some(function) = known.ok_or(Failure::INVALID_FUNCTION)? {
        return Ok(function.pointer::<c_void>() as CUfunction);
    }
    let mut registry = write();
    let Registry { binaries, functions, .. } = &mut *registry;
    let named = functions.get_mut(&stub).ok_or(Failure::INVALID_FUNCTION)?;
    let binary = binaries.get_mut(&named.binary).ok_or(Failure::INVALID_FUNCTION)?;
    load_function(current, binary, named)
}

/// The variable of the current context that a registered shadow stands for. A managed variable is
/// the same in all contexts.
pub fn variable(current: &Current, shadow: *const c_void) -> Result<Variable, Failure> {
    let shadow = Address::of(shadow);
    let context = Address::of(current.context);
    let mut registry = write();
    let Registry { binaries, variables, .. } = &mut *registry;
    let named = variables.get_mut(&shadow).ok_or(Failure::INVALID_SYMBOL)?;
    let binary = binaries.get_mut(&named.binary).ok_or(Failure::INVALID_SYMBOL)?;
    let managed = binary.managed.contains(&shadow);
    let known = named.loaded.iter().find(|(of, _)| managed || *of == context);
    let address = match known {
        Some((_, Address(address))) => *address as u64,
        None => load_variable(current, binary, named, managed)?,
    };
    Ok(Variable { address, size: named.size })
}

/// Forgets what was loaded into a context that is no more.
pub fn forget_context(context: CUcontext) {
    let context = Address::of(context);
    let mut registry = write();
    let Registry { binaries, functions, variables, .. } = &mut *registry;
    let modules = binaries.values_mut().map(|binary| &mut binary.modules);
    let named = functions.values_mut().chain(variables.values_mut()).map(|named| &mut named.loaded);
    modules.chain(named).for_each(|list| list.retain(|(of, _)| *of != context));
}

/// Forgets a binary: its library is going away, most often because the process ends. Its modules go
/// with their contexts, for at that point the driver may not be callable any more.
pub fn remove_binary(binary: Binary) {
    let mut registry = write();
    let Some(registered) = registry.binaries.remove(&binary) else { return };
    for stub in &registered.functions {
        if registry.functions.get(stub).is_some_and(|function| function.binary == binary) {
            registry.functions.remove(stub);
        }
    }
    for shadow in &registered.variables {
        registry.variables.remove(shadow);
    }
}

fn load_function(
    current: &Current,
    binary: &mut Registered,
    named: &mut Named,
) -> Result<CUfunction, Failure> {
    let module = load_module(current, binary)?;
    let mut function = ptr::null_mut();
    current
        .cuModuleGetFunction(&mut function, module, named.name.pointer())
        .map_err(|failure| failure.reworded(Failure::NOT_FOUND, Failure::INVALID_FUNCTION))?;
    named.loaded.push((Address::of(current.context), Address::of(function)));
    Ok(function)
}

fn load_variable(
    current: &Current,
    binary: &mut Registered,
    named: &mut Named,
    managed: bool,
) -> Result<CUdeviceptr, Failure> {
    let module = load_module(current, binary)?;
    // The size is known already: the compiler registered it.
    let (mut address, mut size) = (0, 0);
    match current.cuModuleGetGlobal(&mut address, &mut size, module, named.name.pointer()) {
        // The simulated driver cannot look into a fat binary, so it knows none of the variables in
        // it. Memory for one is taken here, and goes with its context.
        Err(Failure::NOT_FOUND) => {
            address = graph::unnoticed(|| place(current, named.size, managed))?;
        }
        other => other?,
    }
    named.loaded.push((Address::of(current.context), Address(address as usize)));
    Ok(address)
}

fn place(current: &Current, size: usize, managed: bool) -> Result<CUdeviceptr, Failure> {
    const ATTACHED_TO_ALL: u32 = 1;
    let mut address = 0;
    if managed {
        current.cuMemAllocManaged(&mut address, size, ATTACHED_TO_ALL)?;
    } else {
        current.cuMemAlloc(&mut address, size)?;
    }
    Ok(address)
}

fn load_module(current: &Current, binary: &mut Registered) -> Result<CUmodule, Failure> {
    let context = Address::of(current.context);
    if let Some(module) = in_context(&binary.modules, context) {
        return Ok(module.pointer::<c_void>() as CUmodule);
    }
    let image = binary.image.ok_or(Failure::INVALID_IMAGE)?;
    let mut module = ptr::null_mut();
    current.cuModuleLoadFatBinary(&mut module, image.pointer())?;
    binary.modules.push((context, Address::of(module)));
    Ok(module)
}
