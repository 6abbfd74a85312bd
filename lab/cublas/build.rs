//! The name and the symbol versions of the library: see `whyoom-link`.

fn main() -> std::io::Result<()> {
    println!("cargo:rustc-check-cfg=cfg(cuda12)");
    whyoom_link::versioned("libcublas.so.13", &["cublas*"])
}
