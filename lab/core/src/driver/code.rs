//! Device memory that code takes: loaded lazily, at the first launch.

use super::{ContextId, Driver, FunctionId};
use crate::{error::Result, image::Image, models::CODE_PARTS};

impl Driver {
    /// Loads the code of a function into a context, if nothing of its binary is loaded yet.
    ///
    /// Documented in the CUDA programming guide, "Lazy Loading": code is loaded at the first
    /// launch, takes memory then, and the launch fails where none is left. It stays until the
    /// context ends.
    pub(super) fn load_code(&mut self, context: ContextId, function: FunctionId) -> Result<()> {
        let module = self.function_module(function)?;
        let loaded = self.context(context)?;
        if loaded.code.len() as u64 == CODE_PARTS || loaded.code.contains(&module) {
            return Ok(());
        }
        // Single images, as compilers at run time make them, are small.
        if !matches!(self.image_of(module)?, Image::Bundle) {
            return Ok(());
        }
        let device = loaded.device;
        let part = self.code_part(device)?;
        self.machine.charge(self.member, self.machine_index(device)?, part)?;
        self.context_mut(context)?.code.insert(module);
        Ok(())
    }

    /// What the code that is loaded into a context takes.
    pub(super) fn code_bytes(&self, context: ContextId) -> Result<u64> {
        let loaded = self.context(context)?;
        Ok(self.code_part(loaded.device)? * loaded.code.len() as u64)
    }

    fn code_part(&self, device: usize) -> Result<u64> {
        Ok(self.device(device)?.spec.model.code().value / CODE_PARTS)
    }
}
