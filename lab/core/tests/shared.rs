//! Who can enter a lab, and what can be done to its state.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{FileExt, FileTypeExt, PermissionsExt},
        net::UnixStream,
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use whyoom_lab_core::{
    machine::{DeviceSpec, Effect, KernelEffect, Machine, MachineSpec},
    models,
};

const TOTAL: u64 = 1 << 30;

/// A folder of its own for each test, which goes with this value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("whyoom-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn state(&self) -> PathBuf {
        self.0.join("state")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn machine(path: &Path, shared: bool) -> Machine {
    let device = DeviceSpec::of(models::find("t4").unwrap()).with_total(TOTAL);
    let effect = KernelEffect { kernel: "slow".into(), effect: Effect::Busy(5) };
    let (devices, effects) = (vec![device; 2], vec![effect]);
    Machine::create(path, &MachineSpec { devices, effects, shared, ..MachineSpec::default() })
        .unwrap()
}

#[test]
fn whoever_enters_a_shared_lab_finds_the_same_machine() {
    let folder = Folder::new("shared");
    let own = machine(&folder.state(), true);
    let about = fs::symlink_metadata(folder.state()).unwrap();
    assert!(about.file_type().is_socket() && about.permissions().mode() & 0o777 == 0o666);
    let other = Machine::open(&folder.state()).unwrap();
    assert_eq!((other.device_count(), other.effects()), (2, own.effects()));
    let member = other.join().unwrap();
    other.charge(member, 1, 4096).unwrap();
    assert_eq!((own.used(0), own.used(1)), (0, 4096));
}

#[test]
fn guests_that_do_not_listen_keep_nobody_out() {
    let folder = Folder::new("guests");
    let _own = machine(&folder.state(), true);
    let silent: Vec<UnixStream> =
        (0..200).map(|_| UnixStream::connect(folder.state()).unwrap()).collect();
    let began = Instant::now();
    assert!(Machine::open(&folder.state()).is_ok());
    assert!(began.elapsed() < Duration::from_secs(2));
    drop(silent);
}

#[test]
fn a_state_that_others_can_write_is_not_entered() {
    let folder = Folder::new("writable");
    machine(&folder.state(), false);
    let mode = |mode| fs::set_permissions(folder.state(), Permissions::from_mode(mode)).unwrap();
    assert!(Machine::open(&folder.state()).is_ok());
    for writable in [0o620, 0o602, 0o666] {
        mode(writable);
        let error = Machine::open(&folder.state()).err().unwrap();
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied, "{writable:o}");
    }
    mode(0o600);
    let link = folder.0.join("link");
    std::os::unix::fs::symlink(folder.state(), &link).unwrap();
    assert!(Machine::open(&link).is_err());
    assert!(Machine::open(&folder.0.join("absent")).is_err());
    assert!(Machine::open(&folder.0).is_err());
}

#[test]
fn any_bytes_in_the_state_are_survived() {
    let folder = Folder::new("bytes");
    let machine = machine(&folder.state(), false);
    let member = machine.join().unwrap();
    let file = fs::OpenOptions::new().write(true).open(folder.state()).unwrap();
    let length = file.metadata().unwrap().len() as usize;
    for word in [u64::MAX, 1, 1 << 63, 0x0123_4567_89AB_CDEF, 0] {
        file.write_all_at(&word.to_ne_bytes().repeat(length / 8), 0).unwrap();
        let _ = machine.join();
        for device in 0..3 {
            let charged = machine.charge(member, device, TOTAL / 4);
            if charged.is_ok() {
                machine.refund(member, device, TOTAL);
            }
            let _ = (machine.holders(device), machine.must_fail());
            assert!(machine.used(device) <= 1 << 50);
        }
        if let Ok(shared) = machine.hold(member, word, word) {
            assert!(shared.device < 2 && shared.bytes <= 1 << 50);
            machine.let_go(member, shared);
        }
        let _ = machine.share(member, 0, word, 1, 2).map(|shared| machine.let_go(member, shared));
        assert_eq!((machine.device_count(), machine.effects().len()), (2, 1), "these are copies");
        let _ = machine.observations();
        assert!(Machine::open(&folder.state()).is_err());
    }
}
