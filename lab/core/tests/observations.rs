//! What a lab counts of its programs, and the copies that it leaves out.

use whyoom_lab_core::{
    driver::Driver,
    machine::{DeviceSpec, Machine, MachineSpec},
    models,
};

const KEPT: usize = 4096;

#[test]
fn read_backs_peaks_and_questions_are_counted_and_long_copies_left_out() {
    let file = std::env::temp_dir().join(format!("whyoom-test-observed-{}", std::process::id()));
    let model = models::find(models::DEFAULT).unwrap();
    let spec = MachineSpec {
        devices: vec![DeviceSpec::of(model)],
        largest_kept_copy: Some(KEPT as u64),
        ..MachineSpec::default()
    };
    let machine = Machine::create(&file, &spec).unwrap();
    // The mapping stays.
    std::fs::remove_file(&file).unwrap();
    let mut driver = Driver::on(machine, &[0], None).unwrap();
    let context = driver.retain_primary(0).unwrap();
    driver.set_current(context).unwrap();
    let stream = driver.stream(context, 0).unwrap();
    let on_device = driver.alloc(context, 64 << 20).unwrap();
    driver.memory_info(0).unwrap();

    let mut read = |source: &[u8]| {
        let mut target = vec![9_u8; source.len()];
        let length = source.len() as u64;
        driver.copy(context, on_device, source.as_ptr() as u64, length, stream).unwrap();
        driver.copy(context, target.as_mut_ptr() as u64, on_device, length, stream).unwrap();
        target
    };
    assert_eq!(read(&[7; KEPT]), [7; KEPT]);
    assert_eq!(read(&[5; KEPT + 1])[..KEPT], [7; KEPT], "what is longer brings nothing");
    driver.free(context, on_device).unwrap();

    let seen = machine.observations();
    assert_eq!((seen.read_backs, seen.free_queries), (2, 1));
    assert_eq!(seen.peak_used[0], model.context.value + (64 << 20));
    assert!(machine.used(0) < seen.peak_used[0]);
}
