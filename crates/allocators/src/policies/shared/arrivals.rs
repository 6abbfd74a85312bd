//! Things by name, numbered as they arrive.

/// A thing for each name, at a number that never changes: names arrive rarely and are looked up for
/// every request, and there are few.
#[derive(Debug)]
pub(crate) struct Arrivals<K, T> {
    things: Vec<T>,
    /// Sorted by name.
    numbers: Vec<(K, u32)>,
}

impl<K: Ord + Copy + Default, T: Default> Arrivals<K, T> {
    /// The default name has arrived: the common pool and the default stream are number 0, and are
    /// found without a search.
    pub(crate) fn new() -> Self {
        Self { things: vec![T::default()], numbers: vec![(K::default(), 0)] }
    }

    /// A name's number; it arrives if it is new.
    #[inline]
    pub(crate) fn number(&mut self, name: K) -> u32 {
        if name == K::default() { 0 } else { self.search(name) }
    }

    fn search(&mut self, name: K) -> u32 {
        match self.numbers.binary_search_by_key(&name, |(name, _)| *name) {
            Ok(place) => self.numbers[place].1,
            Err(place) => {
                let number = self.things.len() as u32;
                self.numbers.insert(place, (name, number));
                self.things.push(T::default());
                number
            }
        }
    }

    /// How many have arrived.
    pub(crate) fn len(&self) -> u32 {
        self.things.len() as u32
    }

    pub(crate) fn get(&self, number: u32) -> &T {
        &self.things[number as usize]
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> &mut T {
        &mut self.things[number as usize]
    }
}

impl<K: Ord + Copy + Default, T: Default> Default for Arrivals<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_in_order_of_arrival_and_stay() {
        let mut things: Arrivals<u64, u8> = Arrivals::new();
        assert_eq!([9, 3, 0, 9, 5].map(|name| things.number(name)), [1, 2, 0, 1, 3]);
        *things.get_mut(2) = 7;
        assert_eq!((things.number(3), *things.get(2), things.len()), (2, 7, 4));
    }
}
