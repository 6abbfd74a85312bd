//! The name of the library: see `whyoom-lab-link`.

fn main() {
    whyoom_lab_link::named("libnvidia-ml.so.1");
}
