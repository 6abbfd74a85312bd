//! Loaded code takes device memory: at the first launch, in parts, until the context ends.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by unwrapping")]

use std::path::PathBuf;

use whyoom_lab_core::{
    driver::{ContextId, Driver, Launch},
    error::{Error, Result},
    image::Image,
    machine::{DeviceSpec, Machine, MachineSpec},
    models::{self, CODE_PARTS},
};

const TOTAL: u64 = 1 << 30;

struct Lab {
    folder: PathBuf,
    machine: Machine,
    driver: Driver,
    context: ContextId,
}

impl Lab {
    fn new(name: &str) -> Self {
        let name = format!("whyoom-test-code-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        let device = DeviceSpec::of(models::find(models::DEFAULT).unwrap()).with_total(TOTAL);
        let spec = MachineSpec { devices: vec![device], ..MachineSpec::default() };
        let machine = Machine::create(&folder.join("state"), &spec).unwrap();
        let mut driver = Driver::on(machine, &[0], None).unwrap();
        let context = driver.retain_primary(0).unwrap();
        Self { folder, machine, driver, context }
    }

    /// Launches a kernel of a module that was not there before.
    fn launch_from(&mut self, image: Image) -> Result<Launch> {
        let module = self.driver.load_module(Some(self.context), image);
        let function = self.driver.function(module, "kernel").unwrap();
        let launch = Launch { function, grid: [1, 1, 1], block: [32, 1, 1], shared: 0, stream: 0 };
        self.driver.launch(self.context, &launch).map(|()| launch)
    }

    /// How much the memory in use grows by a call.
    fn grows(&mut self, call: impl FnOnce(&mut Self)) -> u64 {
        let before = self.machine.used(0);
        call(self);
        self.machine.used(0) - before
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn part() -> u64 {
    models::find(models::DEFAULT).unwrap().code().value / CODE_PARTS
}

#[test]
fn the_first_launch_from_a_binary_takes_one_part() {
    let mut lab = Lab::new("first");
    let mut launch = None;
    assert_eq!(lab.grows(|lab| launch = lab.launch_from(Image::Bundle).ok()), part());
    let again = lab.grows(|lab| lab.driver.launch(lab.context, &launch.unwrap()).unwrap());
    assert_eq!(again, 0);
}

#[test]
fn what_is_compiled_at_run_time_takes_none() {
    let mut lab = Lab::new("ptx");
    let image = Image::from_ptx(".version 8.0\n.visible .entry kernel()\n{ ret; }").unwrap();
    let taken = lab.grows(|lab| assert!(lab.launch_from(image).is_ok()));
    assert_eq!(taken, 0);
}

#[test]
fn many_binaries_take_all_parts_and_no_more() {
    let mut lab = Lab::new("many");
    let taken = lab.grows(|lab| {
        for _ in 0..3 * CODE_PARTS {
            lab.launch_from(Image::Bundle).unwrap();
        }
    });
    assert_eq!(taken, CODE_PARTS * part());
    lab.driver.release_primary(0).unwrap();
    assert_eq!(lab.machine.used(0), 0, "the end of a context gives everything back");
}

#[test]
fn a_launch_fails_where_no_memory_is_left_for_its_code() {
    let mut lab = Lab::new("full");
    let rest = (TOTAL - lab.machine.used(0)) & !((2 << 20) - 1);
    let block = lab.driver.alloc(lab.context, rest).unwrap();
    assert_eq!(lab.launch_from(Image::Bundle).err(), Some(Error::OutOfMemory));
    lab.driver.free(lab.context, block).unwrap();
    assert!(lab.launch_from(Image::Bundle).is_ok());
}
