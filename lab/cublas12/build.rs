//! The dynamic linker knows a library by the name it carries, and a symbol by that name too.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(cuda12)");
    println!("cargo:rustc-cfg=cuda12");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcublas.so.12");
    // Both major versions are loaded into every process, and the versions of their symbols keep them
    // apart: see `whyoom-lab-cudart`.
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=bfd");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--default-symver");
}
