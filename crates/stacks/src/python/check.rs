//! Roads to a thread's frames that do not rest on the layout, and the comparison.

use super::layout::Layout;
use super::symbols::Symbols;
use crate::frames::{Frames, Raw};
use crate::memory::guarded_read;

/// Offset of an object's type.
const TYPE: usize = 8;
/// The position of a frame whose line alone is known is below this by the line: `LINE - line`.
pub(super) const LINE: i32 = -2;

/// Reads the chain with reads that cannot fault. Whether every code object was one, and the chain
/// had an end.
pub(super) fn guarded(
    layout: &Layout,
    code_type: usize,
    state: usize,
    out: &mut Frames<'_>,
) -> bool {
    let read = |address: usize| guarded_read(address as u64).map(|word| word as usize);
    let mut codes = true;
    let ended = layout.walk(state, read, |code, position, _| {
        codes = codes && read(code + TYPE) == Some(code_type);
        codes && out.push(Raw::Python { code, position })
    });
    ended && codes
}

/// Asks the interpreter's functions, as PyTorch does. With the GIL only; makes frame objects where
/// the interpreter has none yet.
pub(super) fn through_interface(symbols: &Symbols, out: &mut Frames<'_>) {
    symbols.without_collections(|| {
        let mut frame = symbols.current_frame();
        let mut owned = false;
        while frame != 0 {
            let position = symbols.frame_position(frame);
            let position = position.unwrap_or_else(|| LINE - symbols.frame_line(frame));
            let more = out.push(Raw::Python { code: symbols.frame_code(frame), position });
            let back = if more { symbols.frame_back(frame) } else { 0 };
            if owned {
                symbols.release(frame);
            }
            (frame, owned) = (back, true);
        }
    });
}

/// Whether both name the same frames. Before 3.11 the interface tells lines, not positions.
pub(super) fn agree(symbols: &Symbols, read: &[Raw], answer: &[Raw]) -> bool {
    // The answer had only what room was left.
    read.len() >= answer.len()
        && read.iter().zip(answer).all(|(read, answer)| match (read, answer) {
            (Raw::Python { code, position }, Raw::Python { code: other, position: asked }) => {
                let same = *asked > LINE && position == asked;
                let line = *asked <= LINE && symbols.code_line(*code, *position) == LINE - asked;
                code == other && (same || line)
            }
            _ => false,
        })
}
