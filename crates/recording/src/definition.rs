//! What events name by id, as it stands in the recording.

use whyoom_trace::{FrameId, PoolId, StackId, StringId};

use crate::{
    format::{DEFINITION_HEADER, LONGEST_DEFINITION},
    header::u32_at,
    record::{Pen, Scan},
};

/// What an id stands for. The ids are the writer's own; ids that start at 1 and have no gaps are read
/// fastest, and 0 stands for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition<'a> {
    /// A string. What exceeds 48 KiB is cut.
    String {
        /// Its id.
        id: StringId,
        /// Its text; what is not UTF-8 is read with replacements.
        text: &'a [u8],
    },
    /// A frame that the recorder could name itself: one of Python.
    Frame {
        /// Its id.
        id: FrameId,
        /// The function.
        function: StringId,
        /// The source file.
        file: StringId,
        /// The line.
        line: u32,
    },
    /// A call stack.
    Stack {
        /// Its id.
        id: StackId,
        /// Innermost first. What exceeds some 4,000 frames is cut.
        frames: &'a [RawFrame],
    },
    /// Code that was loaded. A later one replaces what it overlaps; stacks that were defined before
    /// keep the earlier one.
    Module {
        /// Its first address.
        start: u64,
        /// The address behind it.
        end: u64,
        /// What was added to the addresses of its file when it was loaded.
        bias: u64,
        /// Its file.
        path: StringId,
        /// Its build id; empty where it has none.
        build_id: &'a [u8],
    },
    /// A pool, by the two numbers that its allocator names it by.
    Pool {
        /// Its id.
        id: PoolId,
        /// The first number.
        first: u64,
        /// The second number.
        second: u64,
    },
}

/// A frame as the recorder saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RawFrame {
    /// Native code: the return address less 1, which lies within the call, as symbolizers want it.
    Native(u64),
    /// A frame that was defined.
    Named(FrameId),
}

mod tag {
    pub(super) const STRING: u8 = 1;
    pub(super) const FRAME: u8 = 2;
    pub(super) const STACK: u8 = 3;
    pub(super) const MODULE: u8 = 4;
    pub(super) const POOL: u8 = 5;
}

const MOST_FRAMES: usize = 4096;
const LONGEST_BUILD_ID: usize = 256;

fn cut<T>(items: &[T], most: usize) -> &[T] {
    &items[..items.len().min(most)]
}

impl Definition<'_> {
    /// No record of this is longer.
    pub(crate) fn longest(&self) -> usize {
        let variable = match self {
            Self::String { text, .. } => text.len().min(LONGEST_DEFINITION),
            Self::Stack { frames, .. } => frames.len().min(MOST_FRAMES) * 11,
            Self::Module { build_id, .. } => build_id.len().min(LONGEST_BUILD_ID),
            Self::Frame { .. } | Self::Pool { .. } => 0,
        };
        variable + 64
    }

    /// Writes the record and returns its length.
    pub(crate) fn write(&self, room: &mut [u8]) -> usize {
        let (head, body) = room.split_at_mut(DEFINITION_HEADER.min(room.len()));
        let mut pen = Pen::new(body);
        let tag = self.put(&mut pen);
        let length = pen.written().min(body.len());
        let start = (u32::from(tag) | (length as u32) << 8).to_le_bytes();
        let check = check(&start, &body[..length]);
        if let Some((first, second)) = head.split_at_mut_checked(4) {
            first.copy_from_slice(&start);
            second.copy_from_slice(&check.to_le_bytes());
        }
        DEFINITION_HEADER + length
    }

    fn put(&self, pen: &mut Pen<'_>) -> u8 {
        match *self {
            Self::String { id, text } => {
                pen.number(id.0.into());
                pen.bytes(cut(text, LONGEST_DEFINITION));
                tag::STRING
            }
            Self::Frame { id, function, file, line } => {
                pen.numbers([id.0, function.0, file.0, line].map(u64::from));
                tag::FRAME
            }
            Self::Stack { id, frames } => {
                pen.number(id.0.into());
                put_frames(cut(frames, MOST_FRAMES), pen);
                tag::STACK
            }
            Self::Module { start, end, bias, path, build_id } => {
                pen.numbers([start, end, bias, path.0.into()]);
                pen.bytes(cut(build_id, LONGEST_BUILD_ID));
                tag::MODULE
            }
            Self::Pool { id, first, second } => {
                pen.numbers([id.0.into(), first, second]);
                tag::POOL
            }
        }
    }

    /// Reads a record from its tag and its body. Frames go to `room`.
    pub(crate) fn read<'b>(
        tag: u8,
        body: &'b [u8],
        room: &'b mut Vec<RawFrame>,
    ) -> Option<Definition<'b>> {
        let mut scan = Scan::new(body);
        Some(match tag {
            tag::STRING => {
                let id = StringId(scan.small()?);
                Definition::String { id, text: scan.rest() }
            }
            tag::FRAME => Definition::Frame {
                id: FrameId(scan.small()?),
                function: StringId(scan.small()?),
                file: StringId(scan.small()?),
                line: scan.small()?,
            },
            tag::STACK => {
                let id = StackId(scan.small()?);
                take_frames(&mut scan, room)?;
                Definition::Stack { id, frames: room }
            }
            tag::MODULE => {
                let [start, end, bias] = [scan.number()?, scan.number()?, scan.number()?];
                let path = StringId(scan.small()?);
                Definition::Module { start, end, bias, path, build_id: scan.rest() }
            }
            tag::POOL => {
                let id = PoolId(scan.small()?);
                Definition::Pool { id, first: scan.number()?, second: scan.number()? }
            }
            _ => return None,
        })
    }
}

/// A native frame is a 0 and the way from the native frame before; a named one is its id and one.
fn put_frames(frames: &[RawFrame], pen: &mut Pen<'_>) {
    let mut last = 0;
    for &frame in frames {
        match frame {
            RawFrame::Native(address) => {
                pen.byte(0);
                pen.step(last, address);
                last = address;
            }
            RawFrame::Named(id) => pen.number(u64::from(id.0) + 1),
        }
    }
}

fn take_frames(scan: &mut Scan<'_>, frames: &mut Vec<RawFrame>) -> Option<()> {
    frames.clear();
    let mut last = 0;
    while !scan.rest().is_empty() {
        let frame = match scan.number()? {
            0 => {
                last = scan.step(last)?;
                RawFrame::Native(last)
            }
            id => RawFrame::Named(FrameId(u32::try_from(id - 1).ok()?)),
        };
        frames.push(frame);
    }
    Some(())
}

/// The record at the start of bytes: its tag, its body, and its length, if its checksum is right.
pub(crate) fn record(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let start = u32_at(bytes, 0);
    let (tag, length) = (start as u8, (start >> 8) as usize);
    let body = bytes.get(DEFINITION_HEADER..)?.get(..length)?;
    let right = tag != 0 && check(&start.to_le_bytes(), body) == u32_at(bytes, 4);
    right.then_some((tag, body, DEFINITION_HEADER + length))
}

fn check(start: &[u8; 4], body: &[u8]) -> u32 {
    let mut check = crc32fast::Hasher::new();
    check.update(start);
    check.update(body);
    check.finalize()
}
