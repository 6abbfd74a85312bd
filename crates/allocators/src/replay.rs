//! A run through a policy.

use crate::{
    policy::{BlockId, Grant, OutOfMemory, Policy, Request},
    simulated::SimulatedDevice,
    step::{Item, Step},
    validator::{Validator, Violation},
    workload::Workload,
};

/// What a run would have taken under a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The first request that the policy could not serve.
    pub failed: Option<OutOfMemory>,
    /// The most that was live at a time, each request rounded up to 512 bytes.
    pub peak_live: u64,
    /// The most that was taken from the device at a time.
    pub peak_reserved: u64,
    /// Calls of the driver.
    pub driver_calls: u64,
    /// What those would take on a real device.
    pub driver_nanoseconds: u64,
    /// Requests that were served.
    pub allocations: u64,
    /// Requests that made the policy call the driver.
    pub calling: u64,
    /// The policy took so much work that the replay was not ended: the figures are those of its first part.
    pub given_up: bool,
}

impl Outcome {
    /// Live bytes as a share of what was taken, at their peaks.
    #[must_use]
    pub fn utilization(&self) -> f64 {
        if self.peak_reserved == 0 {
            1.0
        } else {
            self.peak_live as f64 / self.peak_reserved as f64
        }
    }

    /// Whether every request was served.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.failed.is_none() && !self.given_up
    }
}

/// Replays a run. A failure ends it, and so does a policy that takes work out of all proportion to the run.
pub fn replay(
    workload: &Workload,
    policy: &mut dyn Policy,
    device: &mut SimulatedDevice,
) -> Outcome {
    device.allow(workload.steps.len());
    let mut run = Running::new(workload, policy, device);
    for step in &workload.steps {
        if run.step(step).is_err() || run.device.is_spent() {
            break;
        }
    }
    run.outcome()
}

/// Replays a run and checks after each step what must hold; for tests.
pub fn replay_checked(
    workload: &Workload,
    policy: &mut dyn Policy,
    device: &mut SimulatedDevice,
) -> Result<Outcome, Violation> {
    let mut validator = Validator::default();
    let mut run = Running::new(workload, policy, device);
    for step in &workload.steps {
        if let Step::Free { item } = step
            && let Some(grant) = run.live[item.0 as usize]
        {
            validator.freed(grant, run.device)?;
        }
        if run.step(step).is_err() {
            break;
        }
        if let Step::Alloc { item, request, .. } = step
            && let Some(grant) = run.live[item.0 as usize]
        {
            validator.granted(*request, grant, run.device)?;
        }
        validator.conserved(run.device)?;
    }
    Ok(run.outcome())
}

/// Allocations of a loop that has settled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settled {
    /// How many there are.
    pub allocations: u64,
    /// How many of them made the policy call the driver.
    pub calling: u64,
}

impl Settled {
    /// The share that needed no call.
    #[must_use]
    pub fn quiet(&self) -> f64 {
        1.0 - self.calling as f64 / self.allocations.max(1) as f64
    }
}

/// Replays the history so many times in a loop, as a training run repeats its steps: the allocations
/// after the third time.
///
/// Between two rounds, what the history left is freed and what it took of the start is put back.
pub fn replay_loop(
    workload: &Workload,
    policy: &mut dyn Policy,
    device: &mut SimulatedDevice,
    rounds: u32,
) -> Result<Settled, OutOfMemory> {
    let mut run = Running::new(workload, policy, device);
    let (restored, history) = workload.steps.split_at(workload.restored);
    restored.iter().try_for_each(|step| run.step(step))?;
    let mut before = Outcome::default();
    for round in 0..rounds {
        if round == SETTLED_AFTER {
            before = run.outcome;
        }
        history.iter().try_for_each(|step| run.step(step))?;
        run.back_to_start(restored)?;
    }
    let allocations = run.outcome.allocations - before.allocations;
    let calling = run.outcome.calling - before.calling;
    Ok(Settled { allocations, calling })
}

/// Rounds after which a policy should have found its layout.
const SETTLED_AFTER: u32 = 3;

struct Running<'a> {
    policy: &'a mut dyn Policy,
    device: &'a mut SimulatedDevice,
    live: Vec<Option<Grant>>,
    sizes: Vec<u64>,
    live_bytes: u64,
    outcome: Outcome,
}

impl<'a> Running<'a> {
    fn new(
        workload: &Workload,
        policy: &'a mut dyn Policy,
        device: &'a mut SimulatedDevice,
    ) -> Self {
        let items = workload.items as usize;
        Self {
            policy,
            device,
            live: vec![None; items],
            sizes: vec![0; items],
            live_bytes: 0,
            outcome: Outcome::default(),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), OutOfMemory> {
        match *step {
            Step::Alloc { item, request, .. } => {
                let grant = self.alloc(request)?;
                let index = item.0 as usize;
                self.live[index] = Some(grant);
                // It was served: the sums stay below the device's capacity.
                self.sizes[index] = request.live_bytes();
                self.live_bytes = self.live_bytes.saturating_add(self.sizes[index]);
                self.outcome.peak_live = self.outcome.peak_live.max(self.live_bytes);
            }
            Step::Free { item } => {
                let index = item.0 as usize;
                if let Some(grant) = self.live[index].take() {
                    self.live_bytes = self.live_bytes.saturating_sub(self.sizes[index]);
                    self.free(grant.block);
                }
            }
            Step::EmptyCache => self.policy.release_cached(self.device),
            Step::RetirePool { pool } => self.policy.retire_pool(pool, self.device),
            // What failed then may be served now; the program goes on without it.
            Step::OutOfMemory { request, .. } => {
                let grant = self.alloc(request)?;
                self.free(grant.block);
            }
            Step::SegmentAlloc(_)
            | Step::SegmentFree { .. }
            | Step::SegmentMap(_)
            | Step::SegmentUnmap { .. } => {}
        }
        Ok(())
    }

    /// Frees what the start did not have, and makes again what it had.
    fn back_to_start(&mut self, restored: &[Step]) -> Result<(), OutOfMemory> {
        let mut of_start = vec![false; self.live.len()];
        for step in restored {
            if let Step::Alloc { item, .. } = step {
                of_start[item.0 as usize] = true;
            }
        }
        for (index, of_start) in of_start.into_iter().enumerate() {
            if !of_start && self.live[index].is_some() {
                self.step(&Step::Free { item: Item(index as u32) })?;
            }
        }
        for step in restored {
            if let Step::Alloc { item, .. } = step
                && self.live[item.0 as usize].is_none()
            {
                self.step(step)?;
            }
        }
        Ok(())
    }

    fn alloc(&mut self, request: Request) -> Result<Grant, OutOfMemory> {
        let before = self.device.calls();
        let granted = self.policy.alloc(request, self.device);
        match granted {
            Ok(_) => self.outcome.allocations += 1,
            Err(failure) => self.outcome.failed = Some(failure),
        }
        self.outcome.calling += u64::from(self.device.calls() != before);
        granted
    }

    fn free(&mut self, block: BlockId) {
        self.policy.free(block, self.device);
    }

    fn outcome(self) -> Outcome {
        Outcome {
            peak_reserved: self.device.peak(),
            driver_calls: self.device.calls(),
            driver_nanoseconds: self.device.modelled_nanoseconds(),
            given_up: self.device.is_spent(),
            ..self.outcome
        }
    }
}
