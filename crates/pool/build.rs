//! How the library is linked: see `whyoom-link`.

fn main() {
    whyoom_link::loaded();
}
