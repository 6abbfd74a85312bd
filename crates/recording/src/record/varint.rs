//! Numbers in as few bytes as they need: seven bits a byte, lowest first, the top bit of a byte
//! says that another follows.

/// Writes bytes into a room that is known to be large enough; what does not fit is left out, and
/// [`Pen::written`] then exceeds the room.
pub(crate) struct Pen<'a> {
    room: &'a mut [u8],
    at: usize,
}

impl<'a> Pen<'a> {
    pub(crate) fn new(room: &'a mut [u8]) -> Self {
        Self { room, at: 0 }
    }

    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        if let Some(place) = self.room.get_mut(self.at) {
            *place = byte;
        }
        self.at += 1;
    }

    #[inline]
    pub(crate) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    pub(crate) fn numbers<const N: usize>(&mut self, numbers: [u64; N]) {
        for number in numbers {
            self.number(number);
        }
    }

    /// The way from `last` to `now`, around the end of the numbers where that is shorter.
    #[inline]
    pub(crate) fn step(&mut self, last: u64, now: u64) {
        let way = now.wrapping_sub(last).cast_signed();
        self.number(((way << 1) ^ (way >> 63)).cast_unsigned());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.byte(byte);
        }
    }

    pub(crate) fn written(&self) -> usize {
        self.at
    }
}

/// Reads what a [`Pen`] wrote; `None` where the bytes end or no pen writes such a thing.
pub(crate) struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return None;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    #[inline]
    pub(crate) fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.number()?).ok()
    }

    #[inline]
    pub(crate) fn step(&mut self, last: u64) -> Option<u64> {
        let folded = self.number()?;
        let way = (folded >> 1) ^ (folded & 1).wrapping_neg();
        Some(last.wrapping_add(way))
    }

    /// What has not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn read(&self) -> usize {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [u64; 9] = [0, 1, 127, 128, 16383, 16384, 1 << 35, u64::MAX - 1, u64::MAX];

    #[test]
    fn numbers_come_back() {
        for number in NUMBERS {
            let mut room = [0; 10];
            let mut pen = Pen::new(&mut room);
            pen.number(number);
            let written = pen.written();
            let mut scan = Scan::new(&room[..written]);
            assert_eq!(scan.number(), Some(number));
            assert_eq!(scan.read(), written);
        }
    }

    #[test]
    fn steps_come_back_from_anywhere() {
        for last in NUMBERS {
            for now in NUMBERS {
                let mut room = [0; 10];
                Pen::new(&mut room).step(last, now);
                assert_eq!(Scan::new(&room).step(last), Some(now));
            }
        }
    }

    #[test]
    fn what_no_pen_writes_is_refused() {
        assert_eq!(Scan::new(&[0x80; 9]).number(), None, "it ends too early");
        assert_eq!(Scan::new(&[0xff; 11]).number(), None, "more than 64 bits");
        assert_eq!(Scan::new(&[0x80, 0x80, 0x80, 0x80, 0x80, 1]).small::<u32>(), None);
    }
}
