//! Matrices of 8 × 8 halves between shared memory and the registers of a warp.

use super::block::{Block, LANES};
use crate::{
    error::Fault,
    step::{Place, Register},
};

const SIDE: usize = 8;

/// The lane that holds an element, and which half of its register. Documented: two neighbours of a row share one.
fn holder(row: usize, column: usize, transposed: bool) -> (usize, usize) {
    let (row, column) = if transposed { (column, row) } else { (row, column) };
    (row * SIDE / 2 + column / 2, column % 2)
}

impl Block<'_> {
    /// Each matrix has a register; lane 8 × matrix + row names the row's place.
    pub(super) fn move_matrices(
        &mut self,
        place: &Place,
        registers: &[Register],
        (transposed, loads): (bool, bool),
        lanes: &[usize],
    ) -> Result<(), Fault> {
        if lanes.len() != LANES {
            return Err(Fault::Deadlock);
        }
        // A load must not change an address that a later row needs.
        let mut fragments = vec![[0_u64; LANES]; registers.len()];
        for (matrix, register) in registers.iter().enumerate() {
            for row in 0..SIDE {
                let names_place = lanes[matrix * SIDE + row];
                let mut bytes = [0; 2 * SIDE];
                if loads {
                    self.load(names_place, place, &mut bytes)?;
                }
                for (column, half) in bytes.chunks_exact_mut(2).enumerate() {
                    let (lane, part) = holder(row, column, transposed);
                    if loads {
                        let value = u64::from(half[0]) | u64::from(half[1]) << 8;
                        fragments[matrix][lane] |= value << (16 * part);
                    } else {
                        let value = self.register(lanes[lane], *register) >> (16 * part);
                        half.copy_from_slice(&value.to_le_bytes()[..2]);
                    }
                }
                if !loads {
                    self.store(names_place, place, &bytes)?;
                }
            }
        }
        if loads {
            for (register, fragment) in registers.iter().zip(fragments) {
                for (lane, value) in lanes.iter().zip(fragment) {
                    self.write(*lane, *register, value);
                }
            }
        }
        Ok(())
    }

    fn register(&self, thread: usize, register: Register) -> u64 {
        self.read(thread, crate::step::Source::Register(register))
    }
}
