//! Libraries that take each other's place in memory, while other threads capture.

use std::ffi::{CString, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use whyoom_stacks::{Capturer, MAX_FRAMES, Raw};

/// Two libraries of the same size whose frames are laid out differently.
const SOURCE: &str = r"
int passing(int (*back)(void *), void *argument) {
    volatile char room[ROOM];
    room[1] = 1;
    int result = back(argument);
    return result + room[1] - 1;
}
";

fn compile(folder: &Path, name: &str, room: u32) -> Option<PathBuf> {
    let source = folder.join("passing.c");
    std::fs::write(&source, SOURCE).expect("a source file");
    let out = folder.join(name);
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-fomit-frame-pointer"])
        .arg(format!("-DROOM={room}"))
        .arg(&source)
        .arg("-o")
        .arg(&out)
        .status();
    built.ok()?.success().then_some(out)
}

unsafe extern "C" fn capture(capturer: *mut c_void) -> c_int {
    // SAFETY: `call` passes a capturer.
    let capturer = unsafe { &*capturer.cast::<Capturer>() };
    let mut out = [Raw::Native(0); MAX_FRAMES];
    capturer.capture(&mut out) as c_int
}

/// Loads a library, captures from under it, unloads it; the number of frames.
fn call(capturer: &Capturer, library: &Path) -> c_int {
    type Passing =
        unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void) -> c_int, *mut c_void) -> c_int;
    let name = CString::new(library.to_string_lossy().into_owned()).expect("a path");
    // SAFETY: the library is one of the two above, and is not used after it is closed.
    unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null());
        let passing = libc::dlsym(library, c"passing".as_ptr());
        let passing: Passing = std::mem::transmute(passing);
        let frames = passing(capture, std::ptr::from_ref(capturer).cast_mut().cast());
        libc::dlclose(library);
        frames
    }
}

#[test]
fn libraries_can_take_each_others_place() {
    let folder = std::env::temp_dir().join(format!("whyoom-unloading-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let libraries = [("liba.so", 2048), ("libb.so", 4096)];
    let libraries = libraries.map(|(name, room)| compile(&folder, name, room));
    if let [Some(first), Some(second)] = libraries {
        let capturer = Capturer::new();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut out = [Raw::Native(0); MAX_FRAMES];
                    while !done.load(Ordering::Relaxed) {
                        assert!(capturer.capture(&mut out) > 0);
                    }
                });
            }
            let libraries = [&first, &second].into_iter().cycle().take(200);
            let frames: Vec<_> = libraries.map(|library| call(&capturer, library)).collect();
            // Before anything can fail: the others would go on for ever.
            done.store(true, Ordering::Relaxed);
            assert!(frames[2] > 5, "{} frames", frames[2]);
            // The iterator calls for the first two in other ways.
            assert!(frames[2..].iter().all(|&count| count == frames[2]), "{frames:?}");
        });
    }
    let _ = std::fs::remove_dir_all(folder);
}
