//! The name and the symbol versions of the library: see `whyoom-link`.

fn main() -> std::io::Result<()> {
    println!("cargo:rustc-check-cfg=cfg(cuda12)");
    println!("cargo:rustc-cfg=cuda12");
    whyoom_link::versioned("libcudart.so.12", &["cuda*", "__cuda*"])
}
