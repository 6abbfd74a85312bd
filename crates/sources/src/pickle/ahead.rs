//! The most frequent operations of a pickle, without the care that the others need.

use std::io::Read;

use super::machine::{Machine, OPERATIONS_PER_CHECK};

/// No operation that is taken here is longer.
const LONGEST: usize = 5;

impl<R: Read> Machine<R> {
    /// Takes as many of the most frequent operations as lie ahead: nine of ten of a snapshot. Whatever is anything else,
    /// or wrong, the ordinary way takes.
    pub(super) fn run_ahead(&mut self) {
        let ahead = self.input.ahead();
        let until_check = OPERATIONS_PER_CHECK - 1 - self.operations % OPERATIONS_PER_CHECK;
        let (mut at, mut done) = (0, 0);
        while done < until_check {
            let Some(&next) = ahead.get(at..).and_then(<[u8]>::first_chunk::<LONGEST>) else {
                break;
            };
            let [_, a, b, c, d, ..] = next;
            let (value, length) = match next[0] {
                b'h' => (self.memo.get(usize::from(a)).copied(), 2),
                b'j' => {
                    let index = u32::from_le_bytes([a, b, c, d]) as usize;
                    (self.memo.get(index).copied(), 5)
                }
                b'K' => (Some(self.document.int(i64::from(a))), 2),
                b'M' => (Some(self.document.int(i64::from(u16::from_le_bytes([a, b])))), 3),
                b'J' => {
                    let value = i32::from_le_bytes([a, b, c, d]);
                    (Some(self.document.int(i64::from(value))), 5)
                }
                0x94 => {
                    let Some(&top) = self.stack.last() else { break };
                    self.memo.push(top);
                    at += 1;
                    done += 1;
                    continue;
                }
                _ => break,
            };
            let Some(value) = value else { break };
            self.stack.push(value);
            at += length;
            done += 1;
        }
        self.operations += done;
        self.input.skip(at);
    }
}
