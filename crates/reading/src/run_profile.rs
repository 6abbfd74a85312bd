//! A run, as far as a comparison needs it.

use whyoom_diff::{LaunchNames, Profile, RankProfile, profile_of};
use whyoom_memory::Model;
use whyoom_report::{Input, RunTimeline, run_timelines};
use whyoom_trace::{EventSink, Tables};

/// A run as it was read.
pub struct RunProfile {
    /// What is compared.
    pub profile: Profile,
    /// What is worth saying of what was read.
    pub notes: Vec<String>,
    /// Memory over time, where the source tells it.
    pub timelines: Vec<RunTimeline>,
    /// Whether any of it is of a simulated GPU.
    pub simulated: bool,
}

impl RunProfile {
    /// One of which nothing was read yet.
    #[must_use]
    pub fn named(name: String) -> Self {
        let profile = Profile { name, ranks: Vec::new() };
        Self { profile, notes: Vec::new(), timelines: Vec::new(), simulated: false }
    }

    /// Takes one file or recording. Each has a model of its own: processes of two machines may have one name.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn take<E>(
        &mut self,
        file_name: Option<&str>,
        read: impl FnOnce(&mut Tables, &mut dyn EventSink) -> Result<Input, E>,
    ) -> Result<(), E> {
        let (mut model, mut tables) = (Model::default().and_steady_state(), Tables::default());
        let input = read(&mut tables, &mut model)?;
        self.notes.extend(input.notes);
        self.timelines.extend(run_timelines(&model, &tables));
        let names = LaunchNames { name: &input.name, rank: rank_in };
        self.add(file_name, profile_of(&model, &tables, names).ranks);
        Ok(())
    }

    /// Adds what one file tells: of several files, each is one rank's, and its name may tell which.
    pub fn add(&mut self, file_name: Option<&str>, mut ranks: Vec<RankProfile>) {
        if let [only] = ranks.as_mut_slice() {
            only.rank = only.rank.or(file_name.and_then(rank_in));
        }
        self.profile.ranks.extend(ranks);
    }
}

/// The rank that a name tells: `rank3.pickle`, `snapshot_rank_3`, `job, rank 3`.
#[must_use]
pub fn rank_in(name: &str) -> Option<u32> {
    let lower = name.to_lowercase();
    let after = &lower[lower.rfind("rank")? + 4..];
    let digits = after.trim_start_matches(['_', '-', ' ', '=', '.']);
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_ranks() {
        for (name, rank) in [
            ("out/rank3.pickle", Some(3)),
            ("snapshot_rank_12.pickle", Some(12)),
            ("train.log, rank 0", Some(0)),
            ("frank.pickle", None),
            ("snapshot.pickle", None),
        ] {
            assert_eq!(rank_in(name), rank, "{name}");
        }
    }
}
