//! What was live by module, as the page shows it: each module itself, without those inside it.

use serde::Serialize;
use whyoom_memory::{Category, LiveSum, ModuleSum, module_sums};

use super::names::Names;

/// Amounts by kind, in the order of [`Category::ALL`].
type Amounts = [u64; Category::ALL.len()];

#[derive(Serialize)]
pub(super) struct ModulesJson {
    moment: &'static str,
    time: u64,
    event: u64,
    /// All that was live, with a module and without.
    bytes: u64,
    kinds: [&'static str; Category::ALL.len()],
    /// Name (of strings) and amounts, in order of name.
    modules: Vec<(usize, Amounts)>,
    left_out: LeftOutJson,
}

/// The smallest of very many.
#[derive(Serialize)]
struct LeftOutJson {
    modules: usize,
    bytes: Amounts,
}

/// At most so many modules, the largest; nothing where no module is known.
pub(super) fn modules(
    (moment, (time, event)): (&'static str, (u64, u64)),
    live: &[LiveSum],
    most: usize,
    names: &mut Names<'_>,
) -> Option<ModulesJson> {
    let mut sums = module_sums(names.tables(), live);
    if sums.is_empty() {
        return None;
    }
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.usage().bytes));
    let left_out = sums.split_off(most.min(sums.len()));
    sums.sort_by_key(|sum| sum.name);
    let told = sums.iter().map(|sum| (names.string(sum.name), amounts(sum)));
    Some(ModulesJson {
        moment,
        time,
        event,
        bytes: live.iter().map(|sum| sum.usage.bytes.0).sum(),
        kinds: Category::ALL.map(Category::name),
        modules: told.collect(),
        left_out: LeftOutJson {
            modules: left_out.len(),
            bytes: left_out.iter().map(amounts).fold(Amounts::default(), plus),
        },
    })
}

fn amounts(sum: &ModuleSum<'_>) -> Amounts {
    Category::ALL.map(|kind| sum.kinds.get(&kind).map_or(0, |(usage, _)| usage.bytes.0))
}

fn plus(a: Amounts, b: Amounts) -> Amounts {
    std::array::from_fn(|kind| a[kind] + b[kind])
}

#[cfg(test)]
mod tests {
    use whyoom_memory::{Interface, Usage};
    use whyoom_trace::{Bytes, ModuleRole, StackId, Tables};

    use super::*;

    fn live(tables: &mut Tables, module: &str, category: Category, bytes: u64) -> LiveSum {
        let frame = tables.module_frame(module, ModuleRole::Parameter);
        let stack = tables.stack_in_module(StackId(0), frame);
        let usage = Usage { bytes: Bytes(bytes), blocks: 1 };
        LiveSum {
            stack,
            label: StackId(0),
            category,
            interface: Interface::Allocator,
            usage,
            requested: Bytes(bytes),
            oldest: 0,
            newest: 0,
        }
    }

    #[test]
    fn the_smallest_of_very_many_are_one_sum() {
        let mut tables = Tables::default();
        let (weights, states) = (Category::Parameters, Category::OptimizerState);
        let live = [
            live(&mut tables, "GPT.a", weights, 10),
            live(&mut tables, "GPT.b", weights, 30),
            live(&mut tables, "GPT.c", states, 2),
            live(&mut tables, "GPT.d", weights, 1),
        ];
        let mut names = Names::of(&tables);
        let told = modules(("peak", (0, 0)), &live, 2, &mut names).expect("modules are known");
        let of = |kind: Category, amounts: &Amounts| amounts[kind as usize];
        assert_eq!(told.bytes, 43);
        assert_eq!(
            told.modules.iter().map(|(_, one)| of(weights, one)).collect::<Vec<_>>(),
            [10, 30]
        );
        assert_eq!(told.left_out.modules, 2);
        let left = &told.left_out.bytes;
        assert_eq!((of(weights, left), of(states, left)), (1, 2));
    }

    #[test]
    fn without_modules_there_is_nothing() {
        let tables = Tables::default();
        assert!(modules(("peak", (0, 0)), &[], 2, &mut Names::of(&tables)).is_none());
    }
}
