//! Call sites of one function in two versions of a file: lines move, their order rarely does.

/// More comparisons than these are not made: then all sites of the function are taken together.
const MOST: usize = 1 << 18;

/// How well two call sites go together, from what they allocate.
pub(crate) trait Similar {
    /// The same bytes in as many blocks is 4, as many blocks 2, anything 1.
    fn similarity(&self, other: &Self) -> u32;
}

/// Pairs of indices, in the order of both lists, that go together best; nothing where there are too many.
pub(crate) fn align<T: Similar>(a: &[T], b: &[T]) -> Option<Vec<(usize, usize)>> {
    let width = b.len() + 1;
    if a.len().saturating_mul(b.len()) > MOST {
        return None;
    }
    let mut best = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            let both = best[(i + 1) * width + j + 1] + a[i].similarity(&b[j]);
            let one = best[(i + 1) * width + j].max(best[i * width + j + 1]);
            best[i * width + j] = both.max(one);
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        let here = best[i * width + j];
        if here == best[(i + 1) * width + j + 1] + a[i].similarity(&b[j]) {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if here == best[(i + 1) * width + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    Some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Similar for u32 {
        fn similarity(&self, other: &Self) -> u32 {
            if self == other { 4 } else { 1 }
        }
    }

    #[test]
    fn what_was_inserted_stays_alone() {
        assert_eq!(align(&[10, 20, 30], &[10, 15, 20, 30]), Some(vec![(0, 0), (1, 2), (2, 3)]));
        assert_eq!(align(&[10, 20], &[20]), Some(vec![(1, 0)]));
        assert_eq!(align(&[10, 20], &[11, 21]), Some(vec![(0, 0), (1, 1)]));
        assert_eq!(align::<u32>(&[], &[1]), Some(vec![]));
    }

    #[test]
    fn very_many_are_not_compared() {
        assert_eq!(align(&vec![1u32; 1000], &vec![1; 1000]), None);
    }
}
