//! The name of the library: see `whyoom-link`.

fn main() {
    whyoom_link::named("libnccl.so.2");
}
