//! `whyoom lab run` and `whyoom lab shell`.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use whyoom_files::temporary;
use whyoom_lab_core::{
    holders::add_ghost,
    identity,
    log::Log,
    machine::{DeviceSpec, Identity, MAX_DEVICES, MachineSpec, STATE_VARIABLE},
    models::GpuModel,
    session::{Session, exit_code, libraries_of},
};
use whyoom_trace::Bytes;

use super::{Fault, assembler, small_values};
use crate::{
    arguments::LabMachineArguments, executable, measured_models::models_of, misuse::Misuse, parent,
    terminal::say, unstartable::Unstartable,
};

/// Error correction in ordinary memory takes a sixteenth, as data sheets of boards with GDDR say.
const ECC_SHARE: u64 = 16;

pub(crate) fn run(machine: &LabMachineArguments, command: &[OsString]) -> Result<u8> {
    let Some((program, arguments)) = command.split_first() else { bail!("no command") };
    let lab = Lab::start(machine)?;
    let mut command = lab.session.command(program);
    parent::hide_server(&mut command);
    small_values::compute(&mut command, &lab.session);
    assembler::replace(&mut command, &lab.session);
    command.args(arguments);
    lab.run(command, program)
}

pub(crate) fn shell(machine: &LabMachineArguments) -> Result<u8> {
    let shell = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    let lab = Lab::start(machine)?;
    let mut command = lab.session.command(&shell);
    parent::hide_server(&mut command);
    small_values::compute(&mut command, &lab.session);
    assembler::replace(&mut command, &lab.session);
    lab.run(command, &shell)
}

/// A lab with the processes that hold memory in it.
struct Lab {
    session: Session,
    holders: Vec<Child>,
}

impl Lab {
    fn start(arguments: &LabMachineArguments) -> Result<Self> {
        let devices = devices(arguments)?;
        let mut spec = MachineSpec {
            devices: devices.iter().flat_map(|one| vec![*one; arguments.gpus.into()]).collect(),
            effects: arguments.kernel.clone(),
            shared: arguments.shared,
            ..MachineSpec::default()
        };
        for fault in &arguments.fault {
            match fault {
                Fault::FailAllocation(number) => spec.fail_allocation = Some(*number),
                Fault::SlowSynchronize(time) => {
                    spec.synchronize_nanoseconds = time.as_nanos() as u64;
                }
                Fault::Quirk(quirk) => quirk.add_to(&mut spec.quirks),
                _ => {}
            }
        }
        let lost = spec.quirks.lost_device;
        ensure!(
            lost.is_none_or(|index| index < spec.devices.len()),
            Misuse(format!(
                "lost-gpu=N names one of the {} GPUs, counted from 0",
                spec.devices.len()
            ))
        );
        let log = arguments.log.as_deref().map(std::path::absolute).transpose()?;
        if let Some(path) = &log {
            Log::open(path).with_context(|| format!("cannot write the log {}", path.display()))?;
        }
        let session = Session::start(&spec, &libraries()?, log).with_context(cannot_start)?;
        let mut lab = Self { session, holders: Vec::new() };
        for fault in &arguments.fault {
            lab.add_holder(*fault)?;
        }
        say_what_is_simulated(&devices, arguments.gpus);
        if let Some(machine) = &arguments.machine {
            anstream::eprintln!("whyoom lab: {}.", machine.told());
        }
        Ok(lab)
    }

    fn add_holder(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Ghost(bytes) => add_ghost(&self.session.machine(), 0, bytes)?,
            Fault::Orphan(bytes) => self.start_holder(bytes, Duration::ZERO, &["--detach"])?,
            Fault::Stuck(bytes) => self.start_holder(bytes, Duration::ZERO, &["--stuck"])?,
            Fault::Tenant(bytes, after) => self.start_holder(bytes, after, &[])?,
            Fault::FailAllocation(_) | Fault::Ecc | Fault::SlowSynchronize(_) | Fault::Quirk(_) => {
            }
        }
        Ok(())
    }

    /// Starts a holder; where it takes memory at once, waits until it has.
    fn start_holder(&mut self, bytes: u64, after: Duration, flags: &[&str]) -> Result<()> {
        let Identity { pid, started } = Identity::own();
        let program = std::env::current_exe()?;
        let mut command = self.session.command(program.as_os_str());
        let state = environment(&command, STATE_VARIABLE).context("the lab has no state file")?;
        command
            .args(["lab", "hold", "--state"])
            .arg(state)
            .args(["--lab", &pid.to_string(), "--lab-started", &started.to_string()])
            .args(["--bytes", &bytes.to_string()])
            .args(["--after-milliseconds", &after.as_millis().to_string()])
            .args(flags)
            .stdin(Stdio::null());
        let holders_before = self.session.machine().holders(0).len();
        self.holders.push(command.spawn()?);
        for _ in 0..500 {
            if !after.is_zero() || self.session.machine().holders(0).len() > holders_before {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("a process that should hold {} could not; is the GPU too small?", Bytes(bytes))
    }

    fn run(mut self, command: Command, program: &OsStr) -> Result<u8> {
        let status = self.session.run(command);
        for holder in &mut self.holders {
            // It ends with the lab in any case; this only saves it from being a zombie until then.
            let _ = holder.kill();
            let _ = holder.wait();
        }
        self.say_what_was_computed();
        match status {
            Ok(status) => Ok(exit_code(status)),
            Err(error) => {
                let unstartable = Unstartable::new(program, &error);
                say(&unstartable.to_string());
                Ok(unstartable.code)
            }
        }
    }
}

impl Lab {
    /// Kernels in PTX are computed or not: who trusts a value should know.
    fn say_what_was_computed(&self) {
        let seen = self.session.machine().observations();
        if let Some(line) = computed_line(seen.launches_computed, seen.launches_skipped) {
            anstream::eprintln!("whyoom lab: {line}");
        }
    }
}

fn computed_line(computed: u64, skipped: u64) -> Option<String> {
    let verb = |count| if count == 1 { "was" } else { "were" };
    let launches = if computed == 1 { "launch" } else { "launches" };
    let of_kernels =
        format!("{computed} {launches} of kernels in PTX (Triton) {} computed", verb(computed));
    match (computed, skipped) {
        (0, 0) => None,
        (_, 0) => Some(format!("{of_kernels}.")),
        _ => Some(format!(
            "{of_kernels}; {skipped} {} not: too much work, not implemented, or ended early.",
            verb(skipped)
        )),
    }
}

fn environment(command: &Command, name: &str) -> Option<OsString> {
    let mut variables = command.get_envs();
    variables.find(|(known, _)| *known == name).and_then(|(_, value)| value).map(OsStr::to_owned)
}

fn say_what_is_simulated(devices: &[DeviceSpec], of_each: u16) {
    let alike = devices.chunk_by(|one, other| one.model.name == other.model.name);
    let told = alike.map(|alike| {
        let (count, device) = (alike.len() * usize::from(of_each), alike[0]);
        let name = identity::device_name(device.model);
        format!("{count} x {name}, {} each", Bytes(device.total))
    });
    let told: Vec<String> = told.collect();
    anstream::eprintln!(
        "whyoom lab: {}. Only memory is simulated; kernels do nothing.",
        told.join("; ")
    );
    let too_small = |device: &&DeviceSpec| device.total < device.units.context;
    if let Some(device) = devices.iter().find(too_small) {
        anstream::eprintln!(
            "whyoom lab: no program can start on it: a context alone takes {}.",
            Bytes(device.units.context)
        );
    }
}

fn devices(arguments: &LabMachineArguments) -> Result<Vec<DeviceSpec>> {
    let models = models_of(&arguments.gpu, arguments.machine.as_ref())?;
    let devices: Vec<_> = models.into_iter().map(|model| device(model, arguments)).collect();
    ensure!(
        devices.len() * usize::from(arguments.gpus) <= MAX_DEVICES,
        Misuse(format!("a lab has at most {MAX_DEVICES} GPUs"))
    );
    Ok(devices)
}

fn device(model: &'static GpuModel, arguments: &LabMachineArguments) -> DeviceSpec {
    let device = DeviceSpec::of(model);
    let device = arguments.memory.map_or(device, |memory| device.with_total(memory));
    if arguments.fault.contains(&Fault::Ecc) {
        return device.with_total(device.total - device.total / ECC_SHARE);
    }
    device
}

/// Where the lab cannot start, and what decides that.
pub(crate) fn cannot_start() -> String {
    let folder = temporary::folder();
    format!("the lab cannot start in {} (set TMPDIR to use another folder)", folder.display())
}

/// The folder of the lab's libraries.
pub(crate) fn libraries() -> Result<PathBuf> {
    let program = executable::own()?;
    libraries_of(&program).context(
        "the lab's libraries are not next to this executable: cargo install does not include them, \
         the wheel does (pip install whyoom); in a checkout: cargo build --workspace",
    )
}

#[cfg(test)]
mod tests {
    use super::computed_line;

    #[test]
    fn only_what_happened_is_said_of_launches() {
        let line = |computed, skipped| computed_line(computed, skipped).unwrap_or_default();
        assert_eq!(line(0, 0), "");
        assert_eq!(line(1, 0), "1 launch of kernels in PTX (Triton) was computed.");
        let why = "too much work, not implemented, or ended early.";
        let some = "3 launches of kernels in PTX (Triton) were computed; 1 was not:";
        assert_eq!(line(3, 1), format!("{some} {why}"));
        let none = "0 launches of kernels in PTX (Triton) were computed; 2 were not:";
        assert_eq!(line(0, 2), format!("{none} {why}"));
    }
}
