//! Lists of numbers as they compress well.

use serde::Serialize;

/// Numbers: the first of them, then the difference of each from the one before.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Column(Vec<i64>);

impl FromIterator<u64> for Column {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut before = 0;
        let difference = |number: u64| {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            let difference = number - before;
            before = number;
            difference
        };
        Self(numbers.into_iter().map(difference).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_its_differences() {
        assert_eq!([7, 9, 3, u64::MAX].into_iter().collect::<Column>().0, [7, 2, -6, i64::MAX - 3]);
    }
}
