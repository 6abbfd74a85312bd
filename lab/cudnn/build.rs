//! The dynamic linker knows a library by the name it carries.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcudnn.so.9");
    // PyTorch is linked against symbols of the version `libcudnn.so.9`; without it the dynamic
    // linker prints a warning at every start. Naming the version after the SONAME is an option that
    // only GNU ld has.
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=bfd");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--default-symver");
}
