//! The table of registered device code, which all threads share.

use std::{
    collections::HashMap,
    ffi::c_void,
    ptr,
    sync::{LazyLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

/// An address that is only compared, or handed to the driver: it may go to any thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(pub(super) usize);

impl Address {
    pub(super) fn of<T>(pointer: *const T) -> Self {
        Self(pointer.expose_provenance())
    }

    /// The pointer of this address.
    pub fn pointer<T>(self) -> *const T {
        ptr::with_exposed_provenance(self.0)
    }
}

/// A fat binary, by the address of its wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binary(pub(super) Address);

impl Binary {
    /// The fat binary of a wrapper.
    pub fn of(wrapper: *const c_void) -> Self {
        Self(Address::of(wrapper))
    }
}

/// What the driver has of something, by context. There are few contexts: a list is found through
/// fastest.
pub(super) type ByContext = Vec<(Address, Address)>;

/// A fat binary and all that was registered for it.
#[derive(Default)]
pub(super) struct Registered {
    pub(super) image: Option<Address>,
    pub(super) modules: ByContext,
    pub(super) functions: Vec<Address>,
    pub(super) variables: Vec<Address>,
    pub(super) managed: Vec<Address>,
}

/// A kernel or a variable.
pub(super) struct Named {
    pub(super) binary: Binary,
    pub(super) name: Address,
    pub(super) size: usize,
    pub(super) loaded: ByContext,
}

#[derive(Default)]
pub(super) struct Registry {
    pub(super) binaries: HashMap<Binary, Registered>,
    /// Kernels by host stub.
    pub(super) functions: HashMap<Address, Named>,
    /// Variables by host shadow.
    pub(super) variables: HashMap<Address, Named>,
    /// Kernels that programs got from libraries, with their library.
    pub(super) library_kernels: HashMap<Address, Address>,
}

static REGISTRY: LazyLock<RwLock<Registry>> = LazyLock::new(RwLock::default);

pub(super) fn read() -> RwLockReadGuard<'static, Registry> {
    REGISTRY.read().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn write() -> RwLockWriteGuard<'static, Registry> {
    REGISTRY.write().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn in_context(list: &ByContext, context: Address) -> Option<Address> {
    list.iter().find(|(of, _)| *of == context).map(|(_, found)| *found)
}
