//! The name and the symbol versions of the library: see `whyoom-lab-link`.

fn main() -> std::io::Result<()> {
    println!("cargo:rustc-check-cfg=cfg(cuda12)");
    println!("cargo:rustc-cfg=cuda12");
    whyoom_lab_link::versioned("libcublasLt.so.12", &["cublasLt*"])
}
