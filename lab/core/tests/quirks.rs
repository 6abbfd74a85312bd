//! Where real systems differ from a plain one.
#![expect(clippy::unwrap_used, reason = "a test says what it expects by unwrapping")]

use std::{path::PathBuf, thread::sleep, time::Duration};

use whyoom_lab_core::{
    Error,
    driver::{Driver, Launch, Physical},
    image::Image,
    machine::{DeviceSpec, Effect, KernelEffect, Machine, MachineSpec, Quirks},
    models,
};
use whyoom_trace::SyncScope;

const MIB: u64 = 1 << 20;
const PAGE: u64 = 2 * MIB;

/// A driver on two devices, and its folder.
fn lab(name: &str, quirks: Quirks, effects: Vec<KernelEffect>) -> (Driver, u64, PathBuf) {
    let folder = std::env::temp_dir().join(format!("whyoom-test-{name}-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let device = DeviceSpec::of(models::find(models::DEFAULT).unwrap());
    let devices = vec![device, device];
    let spec = MachineSpec { devices, quirks, effects, ..MachineSpec::default() };
    let machine = Machine::create(&folder.join("state"), &spec).unwrap();
    let mut driver = Driver::on(machine, &[0, 1], None).unwrap();
    let context = driver.retain_primary(0).unwrap();
    driver.set_current(context).unwrap();
    (driver, context, folder)
}

/// A page of a device, mapped for itself.
fn page(driver: &mut Driver, device: usize, size: u64) -> Result<u64, Error> {
    let handle = driver.create(Physical { device, size, handle_types: 0 })?;
    let address = driver.reserve(size, 0)?;
    driver.map(address, size, 0, handle)?;
    driver.set_access(address, size, device, true)?;
    Ok(address)
}

#[test]
fn mapped_memory_is_reached_by_those_who_may() {
    let (mut driver, context, folder) = lab("reach", Quirks::default(), Vec::new());
    let far = page(&mut driver, 1, PAGE).unwrap();
    assert_eq!(driver.check_reach(context, far), Err(Error::InvalidValue));
    driver.set_access(far, PAGE, 0, true).unwrap();
    assert_eq!(driver.check_reach(context, far), Ok(()));
    assert_eq!((driver.access(far, 0), driver.access(far, 1)), (Ok(true), Ok(true)));
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn without_peers_nobody_else_may() {
    let quirks = Quirks { no_peers: true, ..Quirks::default() };
    let (mut driver, context, folder) = lab("peers", quirks, Vec::new());
    let far = page(&mut driver, 1, PAGE).unwrap();
    assert_eq!(driver.set_access(far, PAGE, 0, true), Err(Error::InvalidDevice));
    let other = driver.retain_primary(1).unwrap();
    assert_eq!(driver.enable_peer(context, other), Err(Error::PeerAccessUnsupported));
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn virtual_memory_may_be_missing_or_coarse() {
    let quirks = Quirks { no_virtual_memory: true, ..Quirks::default() };
    let (mut driver, _, folder) = lab("missing", quirks, Vec::new());
    assert_eq!(page(&mut driver, 0, PAGE), Err(Error::NotSupported));
    assert_eq!(driver.granularity(0), Err(Error::NotSupported));
    let _ = std::fs::remove_dir_all(folder);
    let quirks = Quirks { granularity: Some(2 * PAGE), ..Quirks::default() };
    let (mut driver, _, folder) = lab("coarse", quirks, Vec::new());
    assert_eq!(page(&mut driver, 0, PAGE), Err(Error::InvalidValue));
    assert!(page(&mut driver, 0, 2 * PAGE).is_ok());
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn one_mapping_fails() {
    let quirks = Quirks { fail_mappings: Some((2, 2)), ..Quirks::default() };
    let (mut driver, _, folder) = lab("mapping", quirks, Vec::new());
    let mapped = [(); 3].map(|()| page(&mut driver, 0, PAGE).map(drop));
    assert_eq!(mapped, [Ok(()), Err(Error::OutOfMemory), Ok(())]);
    let _ = std::fs::remove_dir_all(folder);
}

/// A kernel that is given memory and runs on while that is unmapped faults; one that has finished does not.
#[test]
fn a_kernel_faults_where_its_memory_goes() {
    let effect = KernelEffect { kernel: "user".to_owned(), effect: Effect::Touch(50_000_000) };
    for early in [true, false] {
        let name = if early { "early" } else { "late" };
        let (mut driver, context, folder) = lab(name, Quirks::default(), vec![effect.clone()]);
        let module = driver.load_module(Some(context), Image::Bundle);
        let function = driver.function(module, "_Z4userPi").unwrap();
        let address = page(&mut driver, 0, PAGE).unwrap();
        let launch = Launch { function, grid: [1, 1, 1], block: [32, 1, 1], shared: 0, stream: 0 };
        driver.launch(context, &launch).unwrap();
        assert!(driver.touches_memory(function));
        driver.touches(context, 0, address).unwrap();
        if !early {
            sleep(Duration::from_millis(60));
        }
        driver.unmap(address, PAGE).unwrap();
        let outcome = driver.synchronized(context, SyncScope::Device);
        assert_eq!(outcome, if early { Err(Error::IllegalAddress) } else { Ok(()) });
        let _ = std::fs::remove_dir_all(folder);
    }
}
