//! Thrift's compact protocol, as far as it is needed to see what a file says of itself before the reader of the format
//! believes it.
//!
//! Only the form in which writers put structs is taken: fields in order, each of the type that it has. Then the reader
//! of the format, which looks at fewer of these, finds the same in it.

/// What a field of a struct is.
pub(crate) enum Field {
    /// Any number, as 16, 32 or 64 bits.
    Number,
    /// A number of 8 bits.
    Byte,
    Flag,
    Bytes,
    /// Its fields by their numbers, from 1.
    Struct(&'static [Self]),
    List(&'static Self),
}

/// The numbers of a struct, and those of structs in it.
#[derive(Default)]
pub(crate) struct Numbers {
    pub(crate) own: [i64; 18],
    pub(crate) inner: Vec<Self>,
}

/// Reads a struct; nothing where it is none of these fields.
pub(crate) fn structure(bytes: &mut &[u8], fields: &[Field]) -> Option<Numbers> {
    let mut numbers = Numbers::default();
    let mut last = 0;
    loop {
        let head = byte(bytes)?;
        if head == 0 {
            return Some(numbers);
        }
        // By how much its number is larger; 0 would let one come twice.
        let number = last + usize::from(head >> 4);
        if number == last {
            return None;
        }
        let field = fields.get(number - 1)?;
        match (field, head & 0xf) {
            // A flag is its type.
            (Field::Flag, 1 | 2) => {}
            (Field::Struct(fields), 12) => numbers.inner.push(structure(bytes, fields)?),
            (field, kind) => {
                let value = value(bytes, field, kind)?;
                *numbers.own.get_mut(number)? = value;
            }
        }
        last = number;
    }
}

/// Reads what is no flag; a number where it is one.
fn value(bytes: &mut &[u8], field: &Field, kind: u8) -> Option<i64> {
    match (field, kind) {
        (Field::Number, 4..=6) => return Some(signed(varint(bytes)?)),
        (Field::Byte, 3) => drop(byte(bytes)?),
        (Field::Bytes, 8) => {
            let length = usize::try_from(varint(bytes)?).ok()?;
            *bytes = bytes.get(length..)?;
        }
        (Field::Struct(fields), 12) => drop(structure(bytes, fields)?),
        (Field::List(of), 9) => list(bytes, of)?,
        _ => return None,
    }
    Some(0)
}

fn list(bytes: &mut &[u8], of: &Field) -> Option<()> {
    let head = byte(bytes)?;
    let count = match head >> 4 {
        15 => varint(bytes)?,
        few => few.into(),
    };
    // Room is made for as many as it says, and each has a byte at least.
    if count > bytes.len() as u64 {
        return None;
    }
    for _ in 0..count {
        value(bytes, of, head & 0xf)?;
    }
    Some(())
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let next = byte(bytes)?;
        value |= u64::from(next & 0x7f) << shift;
        if next & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Even numbers are positive, odd ones negative.
fn signed(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] =
        &[Field::Number, Field::List(&Field::Number), Field::Flag, Field::Bytes];

    fn is_one(mut bytes: &[u8]) -> bool {
        structure(&mut bytes, FIELDS).is_some() && bytes.is_empty()
    }

    #[test]
    fn only_what_writers_write() {
        assert!(is_one(&[0x15, 2, 0x19, 0x25, 2, 4, 0x11, 0x18, 2, 0x35, 0x35, 0]));
        assert!(!is_one(&[0x15, 2, 0x05, 2, 2, 0]), "a field twice");
        assert!(!is_one(&[0x18, 1, 2, 0]), "another type");
        assert!(!is_one(&[0x35, 2, 0]), "a number for a flag");
        assert!(!is_one(&[0x55, 2, 0]), "a field that there is not");
        assert!(!is_one(&[0x15, 2]), "no end");
    }

    /// The reader of the format passes over such a list element by element, which takes seconds for each.
    #[test]
    fn a_list_of_more_than_there_is() {
        for kind in [1, 5, 12] {
            assert!(!is_one(&[0x29, 0xf0 | kind, 0xff, 0xff, 0xff, 0xff, 7, 0]));
        }
    }
}
