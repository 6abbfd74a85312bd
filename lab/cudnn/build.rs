//! The name and the symbol versions of the library: see `whyoom-link`.

fn main() -> std::io::Result<()> {
    whyoom_link::versioned("libcudnn.so.9", &["cudnn*"])
}
