//! Registered device code.
//!
//! Registration only notes addresses: libraries register tens of thousands of kernels before `main`.
//! A module is loaded into a context when something of it is first used there (see [`loading`]).

mod loading;
mod table;

use std::ffi::{c_char, c_void};

use cudarc::driver::sys::{CUfunction, CUkernel, CUlibrary};

use self::table::{Named, Registered, read, write};
pub use self::{
    loading::{forget_context, function, remove_binary, variable},
    table::{Address, Binary},
};

/// Registers a fat binary. One without an image can be registered, and not be loaded.
pub fn add_binary(binary: Binary, image: Option<*const c_void>) {
    let registered = Registered { image: image.map(Address::of), ..Registered::default() };
    write().binaries.insert(binary, registered);
}

/// Registers a kernel. Its name is static text of the program.
pub fn add_function(binary: Binary, stub: *const c_void, name: *const c_char) {
    let stub = Address::of(stub);
    let mut registry = write();
    registry.functions.insert(stub, named(binary, name, 0));
    registry.binaries.entry(binary).or_default().functions.push(stub);
}

/// Registers a variable. Its name is static text of the program.
pub fn add_variable(binary: Binary, shadow: *const c_void, name: *const c_char, size: usize) {
    let shadow = Address::of(shadow);
    let mut registry = write();
    registry.variables.insert(shadow, named(binary, name, size));
    registry.binaries.entry(binary).or_default().variables.push(shadow);
}

/// Registers a managed variable, whose shadow is a pointer to be written.
pub fn add_managed(binary: Binary, shadow: *const c_void, name: *const c_char, size: usize) {
    add_variable(binary, shadow, name, size);
    write().binaries.entry(binary).or_default().managed.push(Address::of(shadow));
}

/// The shadows of the managed variables of a binary.
pub fn managed_of(binary: Binary) -> Vec<Address> {
    read().binaries.get(&binary).map(|registered| registered.managed.clone()).unwrap_or_default()
}

/// The name of a registered kernel.
pub fn function_name(stub: *const c_void) -> Option<*const c_char> {
    read().functions.get(&Address::of(stub)).map(|function| function.name.pointer())
}

/// The stub of a kernel that is loaded as that function.
pub fn stub_of(function: CUfunction) -> Option<*const c_void> {
    let function = Address::of(function);
    let is_it = |named: &Named| named.loaded.iter().any(|(_, loaded)| *loaded == function);
    read().functions.iter().find(|(_, named)| is_it(named)).map(|(stub, _)| stub.pointer())
}

/// Notes that a kernel came from a library.
pub fn add_library_kernel(library: CUlibrary, kernel: CUkernel) {
    write().library_kernels.insert(Address::of(kernel), Address::of(library));
}

/// Whether a kernel came from a library that is still loaded.
pub fn is_library_kernel(kernel: *const c_void) -> bool {
    read().library_kernels.contains_key(&Address::of(kernel))
}

/// Forgets the kernels of a library.
pub fn forget_library(library: CUlibrary) {
    write().library_kernels.retain(|_, of| *of != Address::of(library));
}

fn named(binary: Binary, name: *const c_char, size: usize) -> Named {
    Named { binary, name: Address::of(name), size, loaded: Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn unregistering_a_binary_forgets_what_is_its_own() {
        let [first, second] = [Binary(Address(0x10)), Binary(Address(0x20))];
        let stub = |number| ptr::without_provenance(number);
        for binary in [first, second] {
            add_binary(binary, None);
        }
        add_function(first, stub(1), c"one".as_ptr());
        add_function(first, stub(2), c"two".as_ptr());
        // The linker may merge one stub of two libraries: the later registration holds.
        add_function(second, stub(2), c"two".as_ptr());
        remove_binary(first);
        assert_eq!(function_name(stub(1)), None);
        assert_eq!(function_name(stub(2)), Some(c"two".as_ptr()));
        remove_binary(second);
        assert_eq!(function_name(stub(2)), None);
    }

    #[test]
    fn kernels_of_libraries_are_known_until_unloading() {
        let (library, kernel) = (ptr::without_provenance_mut(8), ptr::without_provenance_mut(64));
        add_library_kernel(library, kernel);
        assert!(is_library_kernel(kernel.cast()));
        forget_library(library);
        assert!(!is_library_kernel(kernel.cast()));
    }
}
