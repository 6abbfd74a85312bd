//! Contexts, and which one is current on a thread.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    mem::ManuallyDrop,
};

use whyoom_trace::Action;

use super::{ContextId, Driver, Limit, state::Context};
use crate::{
    error::{Error, Result},
    log::Place,
    timeline::Stream,
};

thread_local! {
    // Programs call the driver from handlers that run after a thread's values were dropped; what is
    // never dropped can still be used there.
    static CURRENT: RefCell<ManuallyDrop<Vec<ContextId>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// The context that is current on this thread, if one is. The thread's own: no lock is needed.
#[must_use]
pub fn current_context() -> Option<ContextId> {
    CURRENT.with_borrow(|stack| stack.last().copied()).filter(|id| *id != 0)
}

impl Driver {
    /// The context that is current on this thread.
    pub fn current(&self) -> Result<ContextId> {
        let id = current_context().ok_or(Error::InvalidContext)?;
        let context = self.contexts.get(&id).ok_or(Error::ContextIsDestroyed)?;
        context.broken.map_or(Ok(id), Err)
    }

    /// Makes a context current in place of the one that is; 0 for none.
    pub fn set_current(&self, id: ContextId) -> Result<()> {
        self.known(id)?;
        CURRENT.with_borrow_mut(|stack| {
            stack.pop();
            if id != 0 {
                stack.push(id);
            }
        });
        Ok(())
    }

    /// Makes a context current on top of the one that is.
    pub fn push_current(&self, id: ContextId) -> Result<()> {
        self.known(id)?;
        if id == 0 {
            return Err(Error::InvalidContext);
        }
        CURRENT.with_borrow_mut(|stack| stack.push(id));
        Ok(())
    }

    /// Makes the one below current again.
    pub fn pop_current(&self) -> Result<ContextId> {
        CURRENT.with_borrow_mut(|stack| stack.pop()).ok_or(Error::InvalidContext)
    }

    fn known(&self, id: ContextId) -> Result<()> {
        if id == 0 || self.contexts.contains_key(&id) { Ok(()) } else { Err(Error::InvalidContext) }
    }

    /// The device of a context.
    pub fn device_of(&self, id: ContextId) -> Result<usize> {
        self.context(id).map(|context| context.device)
    }

    /// The flags that a context was made with.
    pub fn flags_of(&self, id: ContextId) -> Result<u32> {
        self.context(id).map(|context| context.flags)
    }

    pub(super) fn context(&self, id: ContextId) -> Result<&Context> {
        self.contexts.get(&id).ok_or(Error::InvalidContext)
    }

    pub(super) fn context_mut(&mut self, id: ContextId) -> Result<&mut Context> {
        self.contexts.get_mut(&id).ok_or(Error::InvalidContext)
    }

    pub(super) fn place(&self, context: ContextId) -> Place {
        let device = self.contexts.get(&context).map(|context| context.device);
        Place { device, context, ..Place::default() }
    }

    /// Makes a context. It costs device memory of its own.
    pub fn create_context(&mut self, device: usize, flags: u32) -> Result<ContextId> {
        let bytes = self.device(device)?.spec.units.context;
        let index = self.machine_index(device)?;
        let charged = self.machine.charge(self.member, index, bytes);
        let id = self.new_handle();
        let place = Place { device: Some(device), context: id, ..Place::default() };
        self.note(place, &charged, Action::ContextCreate);
        charged?;
        self.machine.set_context(self.member, index, true);
        let legacy_stream = self.new_handle();
        let stream = Stream::new(id, true, 0);
        self.timeline.streams.insert(legacy_stream, stream);
        let context = Context {
            device,
            flags,
            legacy_stream,
            limits: HashMap::new(),
            peers: Vec::new(),
            code: HashSet::new(),
            broken: None,
            failing: None,
        };
        self.contexts.insert(id, context);
        Ok(id)
    }

    /// Ends a context, and everything that was made in it. The primary one is not the caller's to
    /// destroy: it is released or reset.
    pub fn destroy_context(&mut self, id: ContextId) -> Result<()> {
        if self.devices.iter().any(|device| device.primary == Some(id)) {
            return Err(Error::InvalidContext);
        }
        let place = self.place(id);
        let device = self.context(id)?.device;
        let code = self.code_bytes(id)?;
        self.free_all_of(id);
        self.timeline.streams.retain(|_, stream| stream.context != id);
        self.events.retain(|_, event| event.context != id);
        self.modules.retain(|_, module| module.context != Some(id));
        self.contexts.remove(&id);
        self.refund(device, self.device(device)?.spec.units.context + code);
        let more = self.contexts.values().any(|context| context.device == device);
        self.machine.set_context(self.member, self.machine_index(device)?, more);
        CURRENT.with_borrow_mut(|stack| stack.pop_if(|current| *current == id));
        self.note(place, &Ok(()), Action::ContextDestroy);
        Ok(())
    }

    /// The device's primary context, made on first use.
    pub fn retain_primary(&mut self, device: usize) -> Result<ContextId> {
        let id = match self.device(device)?.primary {
            Some(id) => id,
            None => {
                let flags = self.device(device)?.primary_flags;
                let id = self.create_context(device, flags)?;
                self.device_mut(device)?.primary = Some(id);
                id
            }
        };
        self.device_mut(device)?.primary_users += 1;
        Ok(id)
    }

    /// Ends one use of the primary context; the last one ends the context.
    pub fn release_primary(&mut self, device: usize) -> Result<()> {
        let users = self.device(device)?.primary_users;
        let left = users.checked_sub(1).ok_or(Error::InvalidContext)?;
        self.device_mut(device)?.primary_users = left;
        if left == 0 { self.reset_primary(device) } else { Ok(()) }
    }

    /// Ends the primary context, whoever uses it. Documented: they have to release it all the same.
    pub fn reset_primary(&mut self, device: usize) -> Result<()> {
        let Some(id) = self.device_mut(device)?.primary.take() else { return Ok(()) };
        self.release_default_pool(device);
        self.destroy_context(id)
    }

    /// The device's primary context, if there is one.
    #[must_use]
    pub fn primary_context(&self, device: usize) -> Option<ContextId> {
        self.devices.get(device)?.primary
    }

    /// The flags of the primary context, and whether it exists.
    pub fn primary_state(&self, device: usize) -> Result<(u32, bool)> {
        let state = self.device(device)?;
        Ok((state.primary_flags, state.primary.is_some()))
    }

    /// Sets the flags that the primary context is made with.
    pub fn set_primary_flags(&mut self, device: usize, flags: u32) -> Result<()> {
        self.device_mut(device)?.primary_flags = flags;
        Ok(())
    }

    /// A limit of a context.
    pub fn limit(&self, id: ContextId, limit: Limit) -> Result<u64> {
        let limits = &self.context(id)?.limits;
        Ok(limits.get(&limit).copied().unwrap_or(limit.initial()))
    }

    /// Sets a limit of a context.
    pub fn set_limit(&mut self, id: ContextId, limit: Limit, value: u64) -> Result<()> {
        self.context_mut(id)?.limits.insert(limit, value);
        self.note(self.place(id), &Ok(()), Action::LimitSet { limit: limit.traced(), value });
        Ok(())
    }

    /// Lets a context reach another's memory.
    pub fn enable_peer(&mut self, id: ContextId, peer: ContextId) -> Result<()> {
        self.context(peer)?;
        if self.quirks().no_peers {
            return Err(Error::PeerAccessUnsupported);
        }
        let peers = &mut self.context_mut(id)?.peers;
        if peers.contains(&peer) {
            return Err(Error::PeerAccessAlreadyEnabled);
        }
        peers.push(peer);
        Ok(())
    }

    /// Ends that.
    pub fn disable_peer(&mut self, id: ContextId, peer: ContextId) -> Result<()> {
        let peers = &mut self.context_mut(id)?.peers;
        let position = peers.iter().position(|known| *known == peer);
        peers.swap_remove(position.ok_or(Error::PeerAccessNotEnabled)?);
        Ok(())
    }
}
