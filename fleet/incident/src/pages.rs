//! What the pages of a file say of themselves, before one is unfolded: a file of a few bytes can ask whoever reads
//! it for gigabytes, and an allocation that fails ends the process.

use parquet::file::metadata::ParquetMetaData;

use crate::{
    footer::STATISTICS,
    thrift::{
        Field::{self, Flag, Number, Struct},
        structure,
    },
};

const HEADER: &[Field] = &[
    Number,
    Number,
    Number,
    Number,
    Struct(DATA),
    Struct(&[]),
    Struct(DICTIONARY),
    Struct(DATA_2),
];
const DATA: &[Field] = &[Number, Number, Number, Number, Struct(STATISTICS)];
const DICTIONARY: &[Field] = &[Number, Number, Flag];
const DATA_2: &[Field] =
    &[Number, Number, Number, Number, Number, Number, Flag, Struct(STATISTICS)];

/// Kinds of pages.
const IS_DATA: i64 = 0;
const IS_DICTIONARY: i64 = 2;
const IS_DATA_2: i64 = 3;
/// Plain, by a dictionary, and runs: others are not written here.
const ENCODINGS: [i64; 4] = [0, 2, 3, 8];
/// A text in a dictionary has its length before it.
const LEAST_VALUE: u64 = 4;

/// Returns the largest sum of bytes that the pages of all columns unfold to at a time. Columns whose names are in
/// `left_out` are not read and not counted. Returns `None` if a page is damaged.
pub(crate) fn unfolded(bytes: &[u8], metadata: &ParquetMetaData, left_out: &[&str]) -> Option<u64> {
    let mut most = 0;
    for group in metadata.row_groups() {
        let columns = group.columns().iter();
        let read = columns.filter(|column| !left_out.contains(&column.column_descr().name()));
        let columns = read.map(|column| {
            let (start, length) = column.byte_range();
            let (start, length) = (usize::try_from(start).ok()?, usize::try_from(length).ok()?);
            of_column(bytes.get(start..start.checked_add(length)?)?)
        });
        let sum = columns.sum::<Option<u64>>()?;
        most = most.max(sum);
    }
    Some(most)
}

/// A column has its dictionary and one page at a time.
fn of_column(mut pages: &[u8]) -> Option<u64> {
    let (mut dictionaries, mut largest) = (0, 0);
    while !pages.is_empty() {
        let header = structure(&mut pages, HEADER)?;
        let [kind, unfolded, folded] = [1, 2, 3].map(|number| header.own[number]);
        // One of each kind would leave open which counts.
        let [inner] = &header.inner[..] else { return None };
        let inner = inner.own;
        let unfolded = u64::try_from(unfolded).ok()?;
        let (values, encoding) = match kind {
            IS_DATA | IS_DICTIONARY => (inner[1], inner[2]),
            IS_DATA_2 => (inner[1], inner[4]),
            _ => return None,
        };
        if !ENCODINGS.contains(&encoding) {
            return None;
        }
        if kind == IS_DICTIONARY {
            // Room is made for as many as it says.
            u64::try_from(values).ok().filter(|values| *values <= unfolded / LEAST_VALUE)?;
            dictionaries += unfolded;
        } else {
            largest = largest.max(unfolded);
        }
        pages = pages.get(usize::try_from(folded).ok()?..)?;
    }
    Some(dictionaries + largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header: kind, unfolded and folded length, and a dictionary's or page's number of values, with its page.
    fn page(kind: u8, unfolded: u64, values: u64) -> Vec<u8> {
        let mut bytes = vec![0x15, kind * 2, 0x15];
        put(&mut bytes, unfolded * 2);
        bytes.extend([0x15, 2, if kind == 2 { 0x4c } else { 0x2c }, 0x15]);
        put(&mut bytes, values * 2);
        bytes.extend([0x15, 0, 0, 0, b'x']);
        bytes
    }

    fn put(bytes: &mut Vec<u8>, mut value: u64) {
        while value > 0x7f {
            bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    }

    #[test]
    fn what_pages_ask_for_is_known_before() {
        assert_eq!(
            of_column(&[page(2, 1 << 20, 7), page(0, 9, 1), page(0, 5, 1)].concat()),
            Some((1 << 20) + 9)
        );
        assert_eq!(of_column(&page(2, 40, 11)), None, "a dictionary of more than there is");
        assert_eq!(of_column(&page(1, 40, 1)), None, "no page of values");
        let mut cut = page(0, 9, 1);
        cut.pop();
        assert_eq!(of_column(&cut), None);
        assert_eq!(of_column(&[0xff; 40]), None);
    }

    #[test]
    fn a_field_that_comes_twice_is_refused() {
        let mut twice = page(0, 9, 1);
        // The number of the field in full: 2, and its value again.
        twice.splice(6..6, [0x05, 4, 0xfe, 0x7f]);
        assert_eq!(of_column(&twice), None);
    }
}
