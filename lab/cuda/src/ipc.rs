//! Legacy handles of memory and events for other processes.

use whyoom_lab_abi::{Out, exports};
use whyoom_lab_core::{Error, driver::IpcHandle};

use crate::{
    process::{in_context, with},
    status::Status,
};

/// `CUipcMemHandle` and `CUipcEventHandle`: 64 bytes, passed by value.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Handle {
    bytes: [u8; 64],
}

impl Handle {
    fn words(self) -> IpcHandle {
        let mut words = IpcHandle::default();
        for (word, bytes) in words.iter_mut().zip(self.bytes.as_chunks::<8>().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        words
    }

    fn of(words: IpcHandle) -> Self {
        let mut bytes = [0; 64];
        for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.to_ne_bytes();
        }
        Self { bytes }
    }
}

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`: documented, it must be given.
const LAZY_ENABLE_PEER_ACCESS: u32 = 1;

exports! { Status;
    fn cuIpcGetMemHandle(handle: Out<Handle>, address: u64) {
        if handle.is_null() {
            return Err(Error::InvalidValue.into());
        }
        in_context(|driver, _| Ok(handle.put(Handle::of(driver.export_memory(address)?))?))
    }

    fn cuIpcOpenMemHandle_v2(address: Out<u64>, handle: Handle, flags: u32) {
        if address.is_null() || flags != LAZY_ENABLE_PEER_ACCESS {
            return Err(Error::InvalidValue.into());
        }
        in_context(|driver, context| {
            Ok(address.put(driver.import_memory(context, handle.words())?)?)
        })
    }

    fn cuIpcCloseMemHandle(address: u64) {
        in_context(|driver, _| Ok(driver.close_memory(address)?))
    }

    fn cuIpcGetEventHandle(handle: Out<Handle>, event: u64) {
        if handle.is_null() {
            return Err(Error::InvalidValue.into());
        }
        with(|driver| Ok(handle.put(Handle::of(driver.export_event(event)?))?))
    }

    fn cuIpcOpenEventHandle(event: Out<u64>, handle: Handle) {
        if event.is_null() {
            return Err(Error::InvalidValue.into());
        }
        in_context(|driver, context| {
            Ok(event.put(driver.import_event(context, handle.words())?)?)
        })
    }
}
