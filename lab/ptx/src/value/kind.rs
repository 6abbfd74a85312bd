//! The types of instructions.

/// What the bits mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Predicate,
    Bits,
    Unsigned,
    Signed,
    /// IEEE 754.
    Float,
    /// bfloat16.
    Brain,
}

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) class: Class,
    /// Of one part.
    pub(crate) bytes: usize,
    /// Two of them in one register.
    pub(crate) packed: bool,
}

impl Kind {
    pub(crate) const fn new(class: Class, bytes: usize) -> Self {
        Self { class, bytes, packed: false }
    }

    /// The type of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        if let Some(part) = name.strip_suffix("x2") {
            let part = Self::named(part).filter(|part| part.is_float() && part.bytes <= 4)?;
            return Some(Self { packed: true, ..part });
        }
        let (class, bytes) = match name {
            "pred" => (Class::Predicate, 1),
            "b8" => (Class::Bits, 1),
            "b16" => (Class::Bits, 2),
            "b32" => (Class::Bits, 4),
            "b64" => (Class::Bits, 8),
            "u8" => (Class::Unsigned, 1),
            "u16" => (Class::Unsigned, 2),
            "u32" => (Class::Unsigned, 4),
            "u64" => (Class::Unsigned, 8),
            "s8" => (Class::Signed, 1),
            "s16" => (Class::Signed, 2),
            "s32" => (Class::Signed, 4),
            "s64" => (Class::Signed, 8),
            "f16" => (Class::Float, 2),
            "f32" => (Class::Float, 4),
            "f64" => (Class::Float, 8),
            "bf16" => (Class::Brain, 2),
            _ => return None,
        };
        Some(Self::new(class, bytes))
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self.class, Class::Float | Class::Brain)
    }

    pub(crate) fn is_signed(self) -> bool {
        self.class == Class::Signed
    }

    /// The bytes of a register of this type.
    pub(crate) fn size(self) -> usize {
        if self.packed { self.bytes * 2 } else { self.bytes }
    }

    pub(crate) fn bits(self) -> u32 {
        self.bytes as u32 * 8
    }

    /// The bits of one part.
    pub(crate) fn mask(self) -> u64 {
        if self.class == Class::Predicate { 1 } else { mask(self.bytes) }
    }

    /// A register's value as a number of this type.
    pub(crate) fn signed(self, value: u64) -> i64 {
        let shift = 64 - self.bits();
        ((value << shift).cast_signed()) >> shift
    }
}

/// So many bytes.
pub(crate) fn mask(bytes: usize) -> u64 {
    if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 }
}
