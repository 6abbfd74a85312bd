//! `whyoom`, with limits, and what it printed.

use std::{
    ffi::OsStr,
    io,
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Command, ExitStatus},
    time::Duration,
};

use whyoom_bounded::{Input, Limits, Stop};

/// Memory that it may ask for.
const MEMORY: u64 = 2 << 30;
/// More output is cut.
const LONGEST: u64 = 4 << 20;
/// Environment variables that `whyoom` gets. Everything else stays here: the process reads texts of other people, and
/// has no use for the archive's key or for any other secret.
///
/// `LD_LIBRARY_PATH` and `LD_PRELOAD` lead to the NVIDIA driver's library in containers, and to the lab's; `WHYOOM_LAB`
/// names the machine that the lab simulates.
const VARIABLES: [&str; 9] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "TZ",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "WHYOOM_LAB",
];
/// The variables of the locale begin with it.
const LOCALE: &str = "LC_";
/// Signals that come from outside: a hang-up, an interrupt, a kill, a request to end.
const KILLS: [i32; 4] = [1, 2, 9, 15];

/// Runs `whyoom` and returns what it printed.
///
/// # Errors
/// Where it cannot be started or takes too long, which may pass. `InvalidData` where it fails: it would again.
pub(crate) fn run(
    program: &Path,
    arguments: &[&str],
    input: Input,
    time: Duration,
) -> io::Result<String> {
    let mut command = Command::new(program);
    command.args(arguments);
    command.env_clear();
    command.envs(std::env::vars_os().filter(|(name, _)| is_passed_on(name)));
    let limits = Limits {
        time,
        memory: Some(MEMORY),
        output: LONGEST,
        in_background: true,
        grace: Duration::ZERO,
    };
    let printed = whyoom_bounded::run(&mut command, input, &limits, &Stop::default())?;
    succeeded(printed.status)?;
    let no_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it printed no text");
    String::from_utf8(printed.stdout).map_err(no_text)
}

/// Returns true if `whyoom` gets an environment variable.
fn is_passed_on(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    VARIABLES.contains(&name) || name.starts_with(LOCALE)
}

/// Whoever was killed from outside says nothing of its input.
fn succeeded(status: ExitStatus) -> io::Result<()> {
    if status.success() {
        return Ok(());
    }
    let is_killed = status.signal().is_some_and(|signal| KILLS.contains(&signal));
    let kind = if is_killed { io::ErrorKind::Interrupted } else { io::ErrorKind::InvalidData };
    Err(io::Error::new(kind, format!("{status}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_are_passed_on() {
        for name in ["PATH", "HOME", "LC_ALL", "LANG", "WHYOOM_LAB", "LD_LIBRARY_PATH"] {
            assert!(is_passed_on(OsStr::new(name)), "{name}");
        }
        for name in ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PATHS", "WHYOOM_LABEL", "lc_all", ""]
        {
            assert!(!is_passed_on(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn who_fails_would_fail_again_and_who_was_killed_may_not() {
        let shell = |script: &str| {
            run(Path::new("sh"), &["-c", script], Input::Nothing, Duration::from_secs(5))
        };
        assert_eq!(shell("echo yes").unwrap(), "yes\n");
        let failed = |script| shell(script).unwrap_err().kind();
        assert_eq!(failed("exit 3"), io::ErrorKind::InvalidData);
        assert_eq!(failed("kill -ABRT $$"), io::ErrorKind::InvalidData);
        assert_eq!(failed("kill -KILL $$"), io::ErrorKind::Interrupted);
        assert_eq!(failed("printf '\\377'"), io::ErrorKind::InvalidData);
    }
}
