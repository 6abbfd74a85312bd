//! Where ranks meet: to split a communicator, each must know what the others chose.

use crate::{
    calls::Call,
    communicator::{Communicator, Place},
    frame::Lane,
    status::Failure,
};

/// What a rank chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    color: i32,
    key: i32,
}

impl Choice {
    fn bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes.copy_from_slice([self.color, self.key].map(i32::to_ne_bytes).as_flattened());
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let [color, key] = *bytes.as_chunks::<4>().0 else { return None };
        Some(Self { color: i32::from_ne_bytes(color), key: i32::from_ne_bytes(key) })
    }
}

/// This rank's place in the communicator that those of its colour make together.
pub(crate) fn split(parent: &Communicator, color: i32, key: i32) -> Result<Place, Failure> {
    let split = parent.next_split();
    let (rank, ranks) = placed(&choices(parent, Choice { color, key })?, parent.rank as usize);
    Ok(Place { identity: descendant(parent.identity, split, color), rank, ranks })
}

/// What all ranks chose, in their order.
fn choices(parent: &Communicator, own: Choice) -> Result<Vec<Choice>, Failure> {
    if parent.ranks == 1 {
        return Ok(vec![own]);
    }
    let membership = parent.membership().ok_or(Failure::System)?;
    let _under_way = membership.enter()?;
    let (ranks, bytes) = (0..parent.ranks, own.bytes());
    for peer in ranks.clone().filter(|&peer| peer != parent.rank) {
        membership.send((peer, Lane::Split), Call::Split, &bytes)?;
    }
    let choice = |peer| {
        if peer == parent.rank {
            return Ok(own);
        }
        let bytes = membership.receive((peer, Lane::Split), Call::Split, bytes.len())?;
        Choice::read(&bytes).ok_or(Failure::Internal)
    };
    ranks.map(choice).collect()
}

/// Rank and number of ranks of one among those of its colour, in the order of their keys.
fn placed(choices: &[Choice], own: usize) -> (u32, u32) {
    let mut alike: Vec<usize> =
        (0..choices.len()).filter(|&rank| choices[rank].color == choices[own].color).collect();
    // Stable: equal keys keep the order of the parent.
    alike.sort_by_key(|&rank| choices[rank].key);
    let rank = alike.iter().position(|&rank| rank == own).unwrap_or_default();
    (rank as u32, alike.len() as u32)
}

/// The identity of a communicator made from another, alike on all its ranks.
pub(crate) fn descendant(parent: u64, split: u64, color: i32) -> u64 {
    // FNV-1a: any mixing that is the same in all processes will do.
    let bytes = [parent, split, u64::from(color as u32)].map(u64::to_ne_bytes);
    bytes.as_flattened().iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(pairs: &[(i32, i32)]) -> Vec<Choice> {
        pairs.iter().map(|&(color, key)| Choice { color, key }).collect()
    }

    #[test]
    fn ranks_of_a_colour_are_ordered_by_key() {
        let four = choices(&[(0, 5), (1, 0), (0, 3), (1, 0)]);
        assert_eq!([0, 1, 2, 3].map(|own| placed(&four, own)), [(1, 2), (0, 2), (0, 2), (1, 2)]);
    }

    #[test]
    fn a_choice_arrives_as_it_was() {
        let choice = Choice { color: -1, key: 7 };
        assert_eq!(Choice::read(&choice.bytes()), Some(choice));
        assert_eq!(Choice::read(&[0; 12]), None);
    }

    #[test]
    fn descendants_differ() {
        let all = [descendant(1, 0, 0), descendant(1, 0, 1), descendant(1, 1, 0), 1];
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    }
}
