//! Sizes and orders of calls that no sane program uses: a documented error, and nothing is harmed.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]
#![expect(clippy::unwrap_used, reason = "a test says what it expects by unwrapping")]

use whyoom_lab_core::{
    Error,
    driver::Driver,
    image::Image,
    machine::{DeviceSpec, Machine, MachineSpec},
    models,
};

const MIB: u64 = 1 << 20;

/// A driver on a device of its own, and its primary context.
fn driver(name: &str) -> (Driver, u64) {
    let file = std::env::temp_dir().join(format!("whyoom-test-{name}-{}", std::process::id()));
    let device = DeviceSpec::of(models::find(models::DEFAULT).unwrap());
    let spec = MachineSpec { devices: vec![device], ..MachineSpec::default() };
    let machine = Machine::create(&file, &spec).unwrap();
    // The mapping stays.
    std::fs::remove_file(&file).unwrap();
    let mut driver = Driver::on(machine, &[0], None).unwrap();
    let context = driver.retain_primary(0).unwrap();
    driver.set_current(context).unwrap();
    (driver, context)
}

#[test]
fn sizes_that_overflow_are_refused() {
    let (mut driver, context) = driver("sizes");
    let stream = driver.stream(context, 0).unwrap();
    let start = driver.alloc(context, 4 * MIB).unwrap();
    let inside = start + 1;
    for size in [4 * MIB, u64::MAX, u64::MAX - 1] {
        let copied = driver.copy(context, inside, start, size, stream);
        assert_eq!(copied, Err(Error::InvalidValue), "{size}");
        let filled = driver.fill(context, inside, &[7], size, stream);
        assert_eq!(filled, Err(Error::InvalidValue), "{size}");
    }
    let rows = (1, u64::MAX);
    let copied = driver.copy_rows(context, (start, u64::MAX), (start, 0), rows, stream);
    assert_eq!(copied, Err(Error::InvalidValue));
    let filled = driver.fill_rows(context, (start, u64::MAX), &[0], rows, stream);
    assert_eq!(filled, Err(Error::InvalidValue));
    // Rows without width are no work, however many.
    assert_eq!(driver.fill_rows(context, (start, 1), &[0], (0, u64::MAX), stream), Ok(()));
    for size in [u64::MAX, u64::MAX - 600, 1 << 63] {
        assert_eq!(driver.alloc(context, size), Err(Error::OutOfMemory), "{size}");
        assert_eq!(driver.alloc_pinned(context, size, 0), Err(Error::OutOfMemory), "{size}");
        let pool = driver.default_pool(0).unwrap();
        let asked = driver.alloc_async(context, pool, stream, size);
        assert_eq!(asked, Err(Error::OutOfMemory), "{size}");
    }
}

#[test]
fn the_primary_context_is_not_the_callers_to_destroy() {
    let (mut driver, context) = driver("primary");
    assert_eq!(driver.destroy_context(context), Err(Error::InvalidContext));
    assert_eq!(driver.retain_primary(0), Ok(context));
    let own = driver.create_context(0, 0).unwrap();
    assert_eq!(driver.destroy_context(own), Ok(()));
}

#[test]
fn the_end_of_a_library_frees_nobody_elses_memory() {
    let (mut driver, context) = driver("library");
    let image = Image::from_ptx(".version 8.0\n.global .align 4 .b8 big[4194304];\n").unwrap();
    let library = driver.load_module(None, image);
    let (first, size) = driver.variable(context, library, "big").unwrap();
    driver.reset_primary(0).unwrap();
    let context = driver.retain_primary(0).unwrap();
    assert_eq!(driver.alloc(context, size), Ok(first), "the place is free again");
    driver.unload_module(library).unwrap();
    assert!(driver.find(first).is_some(), "it is another's now");
}

#[test]
fn zeros_reach_registered_memory_that_a_file_is_behind() {
    use std::os::fd::AsRawFd;
    const LENGTH: usize = 3 * 4096;
    let (mut driver, context) = driver("registered");
    let path = std::env::temp_dir().join(format!("whyoom-test-file-{}", std::process::id()));
    std::fs::write(&path, [7; LENGTH]).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new private mapping of a file of that length, at an address of the kernel's choice.
    let address = unsafe {
        let nowhere = std::ptr::null_mut();
        libc::mmap(nowhere, LENGTH, protection, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
    };
    assert_ne!(address, libc::MAP_FAILED);
    let stream = driver.stream(context, 0).unwrap();
    driver.register(context, address as u64, LENGTH as u64, 0).unwrap();
    driver.fill(context, address as u64, &[0], LENGTH as u64, stream).unwrap();
    // SAFETY: the mapping is as long, and nobody else writes to it.
    let bytes = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), LENGTH) };
    assert!(bytes.iter().all(|byte| *byte == 0));
}
