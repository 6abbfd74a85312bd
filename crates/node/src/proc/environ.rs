//! `/proc/PID/environ`: which launcher started the process, and in which job. Other values are not kept:
//! there are secrets among them.

use crate::capture::{Environment, RankLauncher};

/// What only a launcher of ranks sets, all of a line together; the first line that fits counts.
const LAUNCHERS: &[(&[&str], RankLauncher)] = &[
    (&["TORCHELASTIC_RUN_ID"], RankLauncher::Torchrun),
    (&["OMPI_COMM_WORLD_RANK"], RankLauncher::Mpirun),
    (&["LOCAL_RANK", "RANK", "WORLD_SIZE"], RankLauncher::Other),
];

/// What Slurm sets for whatever runs in a job.
const SLURM_JOB: &str = "SLURM_JOB_ID";
/// A number of more digits is none of Slurm's.
const LONGEST_JOB: usize = 20;

/// Reads the variables, which a zero byte ends each.
#[must_use]
pub fn parse(text: &str) -> Environment {
    Environment { launcher: launcher(text), slurm_job: slurm_job(text).map(str::to_owned) }
}

fn variables(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split('\0').filter_map(|variable| variable.split_once('='))
}

fn launcher(text: &str) -> Option<RankLauncher> {
    let has = |wanted: &&str| variables(text).any(|(name, _)| name == *wanted);
    let found = LAUNCHERS.iter().find(|(names, _)| names.iter().all(has));
    found.map(|(_, launcher)| *launcher)
}

fn slurm_job(text: &str) -> Option<&str> {
    let (_, job) = variables(text).find(|(name, _)| *name == SLURM_JOB)?;
    // A process may write what it likes there.
    let is_number = !job.is_empty() && job.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && job.len() <= LONGEST_JOB).then_some(job)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_by_their_variables() {
        for (text, expected) in [
            ("PATH=/bin\0TORCHELASTIC_RUN_ID=none\0RANK=0\0", Some(RankLauncher::Torchrun)),
            ("OMPI_COMM_WORLD_RANK=3\0", Some(RankLauncher::Mpirun)),
            ("LOCAL_RANK=0\0RANK=0\0WORLD_SIZE=8\0", Some(RankLauncher::Other)),
            ("RANK=0\0WORLD_SIZE=8\0", None),
            ("LOCAL_RANK=0\0", None),
            ("MY_TORCHELASTIC_RUN_ID=1\0X=TORCHELASTIC_RUN_ID=1\0TORCHELASTIC_RUN_ID", None),
            ("", None),
        ] {
            assert_eq!(parse(text).launcher, expected, "{text:?}");
        }
    }

    #[test]
    fn a_job_of_slurm_is_a_number() {
        let job = |text| parse(text).slurm_job;
        assert_eq!(job("A=1\0SLURM_JOB_ID=481516\0").as_deref(), Some("481516"));
        for text in ["SLURM_JOB_ID=\0", "SLURM_JOB_ID=a secret\0", "SLURM_JOBID=1\0", ""] {
            assert_eq!(job(text), None, "{text:?}");
        }
        assert_eq!(job(&format!("SLURM_JOB_ID={}", "1".repeat(30))), None);
    }
}
