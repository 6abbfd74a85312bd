//! Panics that are caught, and say nothing on standard error.

use std::{
    cell::Cell,
    panic::{self, UnwindSafe},
    sync::Once,
};

thread_local! {
    /// True while this thread runs something whose panic is caught.
    static IS_CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function. Returns `None` if it panics, without the message and the backtrace that a panic prints. Panics of
/// other threads, and later ones of this thread, are printed as before.
pub(crate) fn catch<T>(run: impl FnOnce() -> T + UnwindSafe) -> Option<T> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let printing = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_CATCHING.get() {
                printing(panic);
            }
        }));
    });
    let was_catching = IS_CATCHING.replace(true);
    let run = panic::catch_unwind(run);
    IS_CATCHING.set(was_catching);
    run.ok()
}

#[cfg(test)]
mod tests {
    use std::{env, process::Command};

    use super::*;

    /// Set in a process that runs only this test, and panics.
    const VARIABLE: &str = "WHYOOM_TEST_PANIC";

    #[test]
    fn a_caught_panic_prints_nothing_and_a_later_one_does() {
        if env::var_os(VARIABLE).is_some() {
            assert_eq!(catch(|| 7), Some(7));
            assert_eq!(catch(|| -> u8 { panic!("the caught one") }), None);
            panic!("the later one");
        }
        let mut test = Command::new(env::current_exe().unwrap());
        test.args(["--exact", "quiet::tests::a_caught_panic_prints_nothing_and_a_later_one_does"]);
        let ended = test
            .arg("--nocapture")
            .env(VARIABLE, "1")
            .env("RUST_BACKTRACE", "full")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(!said.contains("the caught one"), "{said}");
        assert!(said.contains("the later one"), "{said}");
    }
}
