//! Every action with its tag and its fields, in the order in which they are written.

use whyoom_trace::Action;

use super::{
    Last,
    fields::Field,
    varint::{Pen, Scan},
};

/// From one table: the tag of an action, its fields written, its fields read.
macro_rules! actions {
    ($($tag:literal $name:ident { $($field:ident)* })*) => {
        /// The tag of an action; 0 for one that this version of the format cannot write.
        #[inline]
        pub(super) fn tag(action: &Action) -> u8 {
            match action {
                $(Action::$name { .. } => $tag,)*
                _ => 0,
            }
        }

        /// Writes the fields of an action.
        #[inline]
        pub(super) fn put(action: &Action, pen: &mut Pen<'_>, last: &mut Last) {
            match *action {
                $(Action::$name { $($field),* } => { $($field.put(pen, last);)* })*
                _ => {}
            }
        }

        /// Reads the fields of the action that a tag stands for.
        #[inline]
        pub(super) fn take(tag: u8, scan: &mut Scan<'_>, last: &mut Last) -> Option<Action> {
            Some(match tag {
                $($tag => Action::$name { $($field: Field::take(scan, last)?),* },)*
                _ => return None,
            })
        }
    };
}

// A tag is never given to another action and an action's fields never change: that would be another
// version of the format.
actions! {
    1 HistoryStart {}
    2 Alloc { kind address size }
    3 Free { kind address }
    4 PoolTrim { keep }
    5 Reserve { address size }
    6 Unreserve { address size }
    7 Create { handle size }
    8 Release { handle }
    9 Map { address size handle }
    10 Unmap { address size }
    11 ContextCreate {}
    12 ContextDestroy {}
    13 LimitSet { limit value }
    14 LaunchFailed { kernel shared_memory }
    15 CodeLoad { handle }
    16 CodeUnload { handle }
    17 Synchronize { scope }
    18 SegmentAlloc { address size class growth }
    19 SegmentFree { address }
    20 SegmentMap { address size class }
    21 SegmentUnmap { address size }
    22 BlockAlloc { address requested size }
    23 BlockFreeRequested { address }
    24 BlockFree { address }
    25 OutOfMemory { requested }
    26 Symptom { symptom software text }
    27 Mark { kind name }
    28 Setting { name value }
    29 Sample { counter bytes }
    30 Holder { pid bytes command standing }
    31 Exit {}
    32 BlockLabel { address requested }
}
