//! One suite for every policy: the contract of [`whyoom_allocators::Policy`].

mod checked;
mod lanes;
mod properties;

use whyoom_allocators::{
    Device, Policy,
    catalogue::{CATALOGUE, Conditions},
    policies::{
        bfc,
        pytorch::{PyTorch, PyTorchSettings, TieBreak},
        rmm_pool, stream_ordered,
    },
};

use checked::{Checked, Xorshift};

/// How a policy is made.
type Make = Box<dyn Fn() -> Box<dyn Policy>>;

/// Every policy of the catalogue, and every setting beyond it that changes how one works.
fn policies() -> Vec<(&'static str, Make)> {
    let of_catalogue = CATALOGUE.iter().map(|entry| {
        let make: Make = Box::new(|| entry.make(&Conditions::default()));
        (entry.id, make)
    });
    of_catalogue.chain(beyond_catalogue()).collect()
}

fn pytorch(name: &'static str, settings: PyTorchSettings) -> (&'static str, Make) {
    (name, Box::new(move || Box::new(PyTorch::new(settings.clone()))))
}

fn beyond_catalogue() -> Vec<(&'static str, Make)> {
    let default = PyTorchSettings::default;
    vec![
        (
            "stream_ordered threshold=0",
            Box::new(|| {
                let settings =
                    stream_ordered::Settings { release_threshold: 0, ..Default::default() };
                Box::new(stream_ordered::StreamOrdered::new(settings))
            }),
        ),
        (
            "stream_ordered own stream only",
            Box::new(|| {
                let settings =
                    stream_ordered::Settings { across_streams: false, ..Default::default() };
                Box::new(stream_ordered::StreamOrdered::new(settings))
            }),
        ),
        (
            "rmm_pool initial, maximum",
            Box::new(|| {
                let settings = rmm_pool::Settings { initial: 32 * MIB, maximum: Some(8 * GIB) };
                Box::new(rmm_pool::RmmPool::new(settings))
            }),
        ),
        ("bfc preallocated", Box::new(|| Box::new(bfc::Bfc::new(bfc::Settings::JAX)))),
        pytorch(
            "pytorch before 2026",
            PyTorchSettings { tie_break: TieBreak::Address, ..default() },
        ),
        pytorch(
            "pytorch max_split_size",
            PyTorchSettings { max_split_size: Some(32 * MIB), ..default() },
        ),
        pytorch(
            "pytorch roundup_power2_divisions",
            PyTorchSettings { roundup_divisions: [4; 16], ..default() },
        ),
        pytorch(
            "pytorch garbage collection",
            PyTorchSettings {
                garbage_collection_threshold: 0.5,
                allowed: Some(4 * GIB),
                ..default()
            },
        ),
    ]
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Runs a test for each policy on a device of that capacity, and asks that everything goes back.
fn for_every_policy(capacity: u64, test: impl Fn(&mut Checked)) {
    for (name, make) in policies() {
        let mut checked = Checked::new(name, make(), capacity);
        test(&mut checked);
        checked.free_all();
    }
}

#[test]
fn sizes_from_a_byte_to_a_gibibyte_are_given() {
    let sizes = [1, 4, 255, 256, 257, 511, 513, 1000, 1024, 64 << 10, MIB - 1, MIB, MIB + 1];
    let large = [3 * MIB, 10 * MIB, 20 * MIB + 1, 64 * MIB, 500 * MIB, GIB];
    for_every_policy(8 * GIB, |checked| {
        for size in sizes.iter().chain(&large) {
            let block = checked.must_alloc(*size, 0, 0);
            checked.free(block);
        }
        for size in sizes.iter().chain(&large) {
            checked.must_alloc(*size, 0, 0);
        }
    });
}

#[test]
fn what_no_device_has_is_refused_and_changes_nothing() {
    for_every_policy(GIB, |checked| {
        let blocks = [1, 3 * MIB, 100 * MIB].map(|size| checked.must_alloc(size, 0, 0));
        checked.free(blocks[1]);
        let before = checked.device.in_use();
        for size in [1 << 50, u64::MAX, u64::MAX - 511, GIB + 1] {
            assert_eq!(checked.alloc(size, 0, 0), None, "{}: {size}", checked.name);
            checked.check_all();
            assert!(checked.device.in_use() <= before, "{}: {size} left a trace", checked.name);
        }
        checked.must_alloc(3 * MIB, 0, 0);
    });
}

#[test]
fn what_is_cached_is_given_back_before_a_request_fails() {
    for_every_policy(GIB, |checked| {
        let private = checked.must_alloc(300 * MIB, 0, 1);
        checked.free(private);
        checked.retire_pool(1);
        let blocks: Vec<_> =
            (0..96).map(|at| checked.must_alloc(7 * MIB + at, at % 3, 0)).collect();
        for block in blocks {
            checked.free(block);
        }
        checked.must_alloc(700 * MIB, 0, 0);
    });
}

#[test]
fn blocks_may_be_freed_in_any_order() {
    let first_to_last = |at: usize| at;
    let last_to_first = |at: usize| usize::MAX - at;
    let odd_then_even = |at: usize| (at + 1) % 2 * 1_000 + at;
    let orders: [fn(usize) -> usize; 3] = [first_to_last, last_to_first, odd_then_even];
    for order in orders {
        for_every_policy(GIB, |checked| {
            let sizes = (0..200).map(|at| 1 + at * at * 37);
            let blocks: Vec<_> = sizes.map(|size| checked.must_alloc(size, 0, 0)).collect();
            let mut places: Vec<usize> = (0..blocks.len()).collect();
            places.sort_by_key(|at| order(*at));
            for at in places {
                checked.free(blocks[at]);
            }
            checked.release_cached();
            assert_eq!(checked.device.in_use(), 0, "{}", checked.name);
        });
    }
}

#[test]
fn a_random_mix_of_sizes_streams_and_pools_keeps_the_contract() {
    for_every_policy(512 * MIB, |checked| {
        let mut random = Xorshift(0x9E37_79B9_7F4A_7C15);
        let mut live = Vec::new();
        for step in 0..4_000 {
            // As in RMM's own tests: a little over half are allocations.
            if live.is_empty() || random.below(100) < 53 {
                let size = random.size(28);
                live.extend(checked.alloc(size, random.below(4), random.below(3) as u32));
            } else {
                let at = random.below(live.len() as u64) as usize;
                checked.free(live.swap_remove(at));
            }
            if step % 500 == 499 {
                checked.release_cached();
                checked.check_all();
            }
        }
    });
}

#[test]
fn many_small_blocks_fill_a_device_to_its_brim_and_no_further() {
    for_every_policy(64 * MIB, |checked| {
        let mut random = Xorshift(7);
        let mut failures = 0;
        while failures < 20 {
            failures += u32::from(checked.alloc(random.size(20), 0, 0).is_none());
        }
        checked.check_all();
    });
}

#[test]
fn a_blocks_name_is_small_and_used_again() {
    for_every_policy(GIB, |checked| {
        let mut random = Xorshift(11);
        for _ in 0..5_000 {
            let block = checked.must_alloc(random.size(26), random.below(3), 0);
            assert!(block.0 < 1_000, "{}: {block:?}", checked.name);
            checked.free(block);
        }
    });
}

#[test]
fn a_steady_state_calls_no_driver() {
    for_every_policy(GIB, |checked| {
        if checked.name.ends_with("threshold=0") {
            return;
        }
        let round = |checked: &mut Checked| {
            let sizes = [5 * MIB, 700, 33 * MIB, 64 << 10, 12 * MIB];
            let blocks = sizes.map(|size| checked.must_alloc(size, 0, 0));
            for block in blocks {
                checked.free(block);
            }
        };
        (0..3).for_each(|_| round(checked));
        let before = checked.device.calls();
        (0..10).for_each(|_| round(checked));
        assert_eq!(checked.device.calls(), before, "{}", checked.name);
    });
}
