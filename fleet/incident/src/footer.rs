//! The footer of a file: what it holds, by Parquet's own description. It is looked through before the reader of the
//! format does, which takes its word for how long its lists are.

use crate::thrift::{
    Field::{self, Byte, Bytes, Flag, List, Number, Struct},
    structure,
};

/// A longer one is none of ours: one of a file of many incidents has some kilobytes.
const LONGEST: usize = 1 << 20;
/// The first and the last bytes of a Parquet file.
pub(crate) const MAGIC: &[u8] = b"PAR1";

const FOOTER: &[Field] = &[
    Number,
    List(&Struct(SCHEMA_ELEMENT)),
    Number,
    List(&Struct(ROW_GROUP)),
    List(&Struct(KEY_VALUE)),
    Bytes,
    List(&Struct(&[EMPTY, EMPTY])),
];
const EMPTY: Field = Struct(&[]);
const KEY_VALUE: &[Field] = &[Bytes, Bytes];
const SCHEMA_ELEMENT: &[Field] =
    &[Number, Number, Number, Bytes, Number, Number, Number, Number, Number, Struct(LOGICAL_TYPE)];
/// One of these. Those that are empty here need no more.
const LOGICAL_TYPE: &[Field] = &[
    EMPTY,
    EMPTY,
    EMPTY,
    EMPTY,
    Struct(&[Number, Number]),
    EMPTY,
    Struct(TIME),
    Struct(TIME),
    EMPTY,
    Struct(&[Byte, Flag]),
    EMPTY,
    EMPTY,
    EMPTY,
    EMPTY,
    EMPTY,
];
const TIME: &[Field] = &[Flag, Struct(&[EMPTY, EMPTY, EMPTY])];
const ROW_GROUP: &[Field] = &[
    List(&Struct(COLUMN)),
    Number,
    Number,
    List(&Struct(&[Number, Flag, Flag])),
    Number,
    Number,
    Number,
];
const COLUMN: &[Field] = &[Bytes, Number, Struct(COLUMN_METADATA), Number, Number, Number, Number];
const COLUMN_METADATA: &[Field] = &[
    Number,
    List(&Number),
    List(&Bytes),
    Number,
    Number,
    Number,
    Number,
    List(&Struct(KEY_VALUE)),
    Number,
    Number,
    Number,
    Struct(STATISTICS),
    List(&Struct(&[Number, Number, Number])),
    Number,
    Number,
    Struct(&[Number, List(&Number), List(&Number)]),
];
/// The least and the most of a column or a page.
pub(crate) const STATISTICS: &[Field] =
    &[Bytes, Bytes, Number, Number, Bytes, Bytes, Flag, Flag, Number];

/// Whether a file ends in a footer that can be read.
pub(crate) fn is_sound(file: &[u8]) -> bool {
    footer(file)
        .is_some_and(|mut footer| structure(&mut footer, FOOTER).is_some() && footer.is_empty())
}

fn footer(file: &[u8]) -> Option<&[u8]> {
    let (rest, length) = file.strip_suffix(MAGIC)?.split_last_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let start = rest.len().checked_sub(length)?;
    rest.get(start..).filter(|footer| footer.len() <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_footer_is() {
        let file = include_bytes!("../../../tests/fixtures/incidents/version-1.parquet");
        assert!(is_sound(file));
        let start = file.len() - 8 - footer(file).unwrap().len();
        for wrong in [
            &file[..file.len() - 1],
            &file[start..],
            &[&file[..start], &file[start + 1..]].concat()[..],
        ] {
            assert_eq!(is_sound(wrong), wrong.len() == file.len() - start, "{} bytes", wrong.len());
        }
        // A field that no footer has: a list of two thousand million flags.
        let mut bomb = footer(file).unwrap().to_vec();
        bomb.pop();
        bomb.extend([0x79, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0]);
        let length = u32::try_from(bomb.len()).unwrap().to_le_bytes();
        let bomb = [&file[..start], &bomb, &length, MAGIC].concat();
        let started = std::time::Instant::now();
        assert!(crate::parquet::read(bomb.clone().into()).is_err());
        assert!(crate::parquet::unknown_columns(bomb.into()).is_err());
        assert!(started.elapsed().as_secs() < 1);
    }
}
