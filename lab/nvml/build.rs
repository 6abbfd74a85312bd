//! The name of the library: see `whyoom-link`.

fn main() {
    whyoom_link::named("libnvidia-ml.so.1");
}
