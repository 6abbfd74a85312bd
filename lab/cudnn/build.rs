//! The name and the symbol versions of the library: see `whyoom-lab-link`.

fn main() -> std::io::Result<()> {
    whyoom_lab_link::versioned("libcudnn.so.9", &["cudnn*"])
}
