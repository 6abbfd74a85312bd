//! Code: modules, functions and launches, which are checked; `compute` runs some of them.

use std::collections::HashMap;

use whyoom_trace::{Action, Bytes, StringId};

use super::{
    ContextId, Driver, FunctionId, Launch, ModuleId, Touching,
    state::{Function, Module},
};
use crate::{
    error::{Error, Result},
    image::Image,
    machine::Effect,
    timeline::StreamId,
};

/// Documented for every device so far: a block may use so much shared memory without asking.
const SHARED_PER_BLOCK: u32 = 48 << 10;
/// Documented limits of a launch, the same for every compute capability since 5.0.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_THREADS: u64 = 1024;
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// What a function can be asked or told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionAttribute {
    /// Threads that a block may have.
    MaxThreadsPerBlock,
    /// Dynamic shared memory that a launch may ask for.
    MaxDynamicShared,
}

impl Driver {
    /// Loads an image; with no context it is a library.
    pub fn load_module(&mut self, context: Option<ContextId>, image: Image) -> ModuleId {
        let id = self.new_handle();
        let module =
            Module { context, image, functions: HashMap::new(), variables: HashMap::new() };
        self.modules.insert(id, module);
        id
    }

    /// Unloads it.
    pub fn unload_module(&mut self, id: ModuleId) -> Result<()> {
        let module = self.modules.remove(&id).ok_or(Error::InvalidHandle)?;
        self.functions.retain(|_, function| function.module != id);
        for (address, _) in module.variables.into_values() {
            self.release(address);
        }
        Ok(())
    }

    fn module(&self, id: ModuleId) -> Result<&Module> {
        self.modules.get(&id).ok_or(Error::InvalidHandle)
    }

    pub(super) fn image_of(&self, id: ModuleId) -> Result<&Image> {
        self.module(id).map(|module| &module.image)
    }

    /// A function of a module.
    pub fn function(&mut self, module: ModuleId, name: &str) -> Result<FunctionId> {
        let found = self.module(module)?;
        if let Some(id) = found.functions.get(name) {
            return Ok(*id);
        }
        if !found.image.has_kernel(name) {
            return Err(Error::NotFound);
        }
        let effect = self.effects.iter().find(|known| name.contains(&known.kernel));
        let function = Function {
            module,
            name: name.to_owned(),
            max_dynamic_shared: SHARED_PER_BLOCK,
            effect: effect.map(|known| known.effect),
            stuck: false,
        };
        let id = self.new_handle();
        self.functions.insert(id, function);
        if let Some(module) = self.modules.get_mut(&module) {
            module.functions.insert(name.to_owned(), id);
        }
        Ok(id)
    }

    /// The kernels of a module, where its image tells them.
    pub fn kernel_names(&self, module: ModuleId) -> Result<Vec<String>> {
        let kernels = self.module(module)?.image.kernels();
        kernels.map(<[String]>::to_vec).ok_or(Error::NotSupported)
    }

    /// The address and size of a variable; memory is taken for it on first use.
    pub fn variable(
        &mut self,
        context: ContextId,
        module: ModuleId,
        name: &str,
    ) -> Result<(u64, u64)> {
        let found = self.module(module)?;
        if let Some(place) = found.variables.get(name) {
            return Ok(*place);
        }
        let size = found.image.variable_size(name).ok_or(Error::NotFound)?;
        let address = self.alloc(context, size)?;
        if let Some(module) = self.modules.get_mut(&module) {
            module.variables.insert(name.to_owned(), (address, size));
        }
        Ok((address, size))
    }

    pub(super) fn known_function(&self, id: FunctionId) -> Result<&Function> {
        self.functions.get(&id).ok_or(Error::InvalidHandle)
    }

    /// The name of a function.
    pub fn function_name(&self, id: FunctionId) -> Result<&str> {
        self.known_function(id).map(|function| function.name.as_str())
    }

    /// The module of a function.
    pub fn function_module(&self, id: FunctionId) -> Result<ModuleId> {
        self.known_function(id).map(|function| function.module)
    }

    /// What a function says of itself.
    pub fn function_attribute(&self, id: FunctionId, attribute: FunctionAttribute) -> Result<u32> {
        let function = self.known_function(id)?;
        Ok(match attribute {
            FunctionAttribute::MaxThreadsPerBlock => MAX_THREADS as u32,
            FunctionAttribute::MaxDynamicShared => function.max_dynamic_shared,
        })
    }

    /// Lets launches of a function use more shared memory, up to what its device has.
    pub fn set_max_dynamic_shared(&mut self, id: FunctionId, bytes: u32) -> Result<()> {
        let limit =
            self.devices.iter().map(|device| device.spec.model.shared_per_block_optin.value);
        if bytes > limit.max().unwrap_or(SHARED_PER_BLOCK) {
            return Err(Error::InvalidValue);
        }
        let function = self.functions.get_mut(&id).ok_or(Error::InvalidHandle)?;
        function.max_dynamic_shared = bytes;
        Ok(())
    }

    /// Launches a function.
    pub fn launch(&mut self, context: ContextId, launch: &Launch) -> Result<()> {
        let stream = self.stream(context, launch.stream)?;
        self.check_launch_of(context, stream, launch)?;
        let loaded = self.load_code(context, launch.function);
        if loaded.is_err() {
            self.note_failed_launch(context, stream, launch, loaded);
            return loaded;
        }
        let mut duration = 0;
        match self.known_function(launch.function)?.effect {
            None => {}
            Some(Effect::Busy(nanoseconds) | Effect::Touch(nanoseconds)) => duration = nanoseconds,
            Some(Effect::HeapExhausted) => {
                self.context_mut(context)?.failing = Some(Error::IllegalAddress);
            }
            Some(Effect::Fail) => self.context_mut(context)?.failing = Some(Error::LaunchFailed),
        }
        self.submit(context, stream, duration)
    }

    /// Whether a function uses the memory at its first argument until it has finished.
    #[must_use]
    pub fn touches_memory(&self, id: FunctionId) -> bool {
        let known = self.known_function(id);
        known.is_ok_and(|function| matches!(function.effect, Some(Effect::Touch(_))))
    }

    /// What a stream was last given uses the memory at an address until it has finished.
    pub fn touches(&mut self, context: ContextId, stream: StreamId, address: u64) -> Result<()> {
        let stream = self.stream(context, stream)?;
        let (now, finishes) = (self.now(), self.timeline.finishes(stream).unwrap_or_default());
        self.touching.retain(|one| one.finishes > now);
        self.touching.push(Touching { context, address, finishes });
        Ok(())
    }

    /// Memory goes: what still runs and uses it fails, which the next synchronize shows.
    pub(super) fn end_touched(&mut self, start: u64, size: u64) {
        let now = self.now();
        let fails =
            |one: &&Touching| one.finishes > now && (start..start + size).contains(&one.address);
        let failing: Vec<ContextId> =
            self.touching.iter().filter(fails).map(|one| one.context).collect();
        for context in failing {
            if let Ok(context) = self.context_mut(context) {
                context.failing = Some(Error::IllegalAddress);
            }
        }
    }

    /// Checks a launch, and notes it where it cannot be made.
    pub(super) fn check_launch_of(
        &self,
        context: ContextId,
        stream: StreamId,
        launch: &Launch,
    ) -> Result<()> {
        let outcome = self.check_kernel(launch);
        if outcome.is_err() {
            self.note_failed_launch(context, stream, launch, outcome);
        }
        outcome
    }

    /// Whether the function can be launched that way.
    pub(super) fn check_kernel(&self, launch: &Launch) -> Result<()> {
        let function = self.known_function(launch.function)?;
        let within = |size: &[u32; 3], limit: [u32; 3]| {
            size.iter().zip(limit).all(|(size, limit)| (1..=limit).contains(size))
        };
        let threads: u64 = launch.block.iter().map(|side| u64::from(*side)).product();
        let fits = within(&launch.grid, MAX_GRID)
            && within(&launch.block, MAX_BLOCK)
            && threads <= MAX_THREADS
            && launch.shared <= function.max_dynamic_shared;
        if fits { Ok(()) } else { Err(Error::InvalidValue) }
    }

    fn note_failed_launch(
        &self,
        context: ContextId,
        stream: StreamId,
        launch: &Launch,
        outcome: Result<()>,
    ) {
        let Some(log) = &self.log else { return };
        let action = Action::LaunchFailed {
            kernel: StringId::default(),
            shared_memory: Bytes(launch.shared.into()),
        };
        let name = self.function_name(launch.function).unwrap_or("");
        log.write(self.stream_place(context, stream), outcome.err(), action, Some(name));
    }
}
