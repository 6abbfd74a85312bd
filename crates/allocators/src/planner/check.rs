//! Whether a packing is one: written without the packer's code, so that it cannot share its errors.

use std::collections::BTreeMap;

use super::{Item, Packing};

/// What is wrong with a packing; items are named by their place in the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// Not one offset per item.
    #[error("{offsets} offsets for {items} items")]
    Count {
        /// How many items there are.
        items: usize,
        /// How many offsets there are.
        offsets: usize,
    },
    /// Two items that live at the same time share bytes.
    #[error("items {first} and {second} live at the same time and share bytes")]
    Overlap {
        /// The one with the lower offset.
        first: usize,
        /// The other.
        second: usize,
    },
    /// Two items of different partitions share bytes.
    #[error("items {first} and {second} of different partitions share bytes")]
    Shared {
        /// The one with the lower offset.
        first: usize,
        /// The other.
        second: usize,
    },
    /// An item's offset is no multiple of its alignment.
    #[error("item {item} is not aligned")]
    Misaligned {
        /// Which one.
        item: usize,
    },
    /// The height is not the highest end of an item.
    #[error("the height is given as {given}, but the highest end is {real}")]
    Height {
        /// What the packing says.
        given: u64,
        /// What it is.
        real: u64,
    },
}

/// Finds the first flaw of a packing, by one sweep over time and one over addresses.
pub fn check(items: &[Item], packing: &Packing) -> Result<(), Flaw> {
    if items.len() != packing.offsets.len() {
        return Err(Flaw::Count { items: items.len(), offsets: packing.offsets.len() });
    }
    let living: Vec<usize> = (0..items.len())
        .filter(|index| items[*index].upper > items[*index].lower && items[*index].size > 0)
        .collect();
    each_alone(items, packing, &living)?;
    over_time(items, packing, &living)?;
    over_addresses(items, packing, living)
}

fn end(items: &[Item], packing: &Packing, index: usize) -> u128 {
    u128::from(packing.offsets[index]) + u128::from(items[index].size)
}

fn each_alone(items: &[Item], packing: &Packing, living: &[usize]) -> Result<(), Flaw> {
    let mut highest = 0;
    for &item in living {
        if items[item].alignment > 1 && !packing.offsets[item].is_multiple_of(items[item].alignment)
        {
            return Err(Flaw::Misaligned { item });
        }
        highest = highest.max(end(items, packing, item));
    }
    if highest != u128::from(packing.height) {
        let real = u64::try_from(highest).unwrap_or(u64::MAX);
        return Err(Flaw::Height { given: packing.height, real });
    }
    Ok(())
}

/// The items that live are disjoint, so that a new one can only meet the two beside it.
fn over_time(items: &[Item], packing: &Packing, living: &[usize]) -> Result<(), Flaw> {
    let starts = living.iter().map(|&index| (items[index].lower, 1, index));
    let ends = living.iter().map(|&index| (items[index].upper, 0, index));
    let mut events: Vec<(u64, u8, usize)> = starts.chain(ends).collect();
    events.sort_unstable();
    let mut live: BTreeMap<u64, usize> = BTreeMap::new();
    for (_, kind, index) in events {
        let offset = packing.offsets[index];
        if kind == 0 {
            live.remove(&offset);
            continue;
        }
        if let Some((_, &below)) = live.range(..=offset).next_back()
            && end(items, packing, below) > u128::from(offset)
        {
            return Err(Flaw::Overlap { first: below, second: index });
        }
        if let Some((&above, &second)) = live.range(offset..).next()
            && u128::from(above) < end(items, packing, index)
        {
            return Err(Flaw::Overlap { first: index, second });
        }
        live.insert(offset, index);
    }
    Ok(())
}

/// By rising offset, an item must start above whatever another partition has so far. The highest
/// end and the highest of any other partition than that one's say it.
fn over_addresses(items: &[Item], packing: &Packing, mut living: Vec<usize>) -> Result<(), Flaw> {
    living.sort_unstable_by_key(|&index| packing.offsets[index]);
    let mut highest: [Option<usize>; 2] = [None, None];
    for second in living {
        let partition = items[second].partition;
        let foreign = highest.into_iter().flatten().find(|&i| items[i].partition != partition);
        if let Some(first) = foreign
            && end(items, packing, first) > u128::from(packing.offsets[second])
        {
            return Err(Flaw::Shared { first, second });
        }
        let reaches = |index: Option<usize>| index.map_or(0, |index| end(items, packing, index));
        if end(items, packing, second) > reaches(highest[0]) {
            if highest[0].is_some_and(|index| items[index].partition != partition) {
                highest[1] = highest[0];
            }
            highest[0] = Some(second);
        } else if highest[0].is_some_and(|index| items[index].partition != partition)
            && end(items, packing, second) > reaches(highest[1])
        {
            highest[1] = Some(second);
        }
    }
    Ok(())
}
