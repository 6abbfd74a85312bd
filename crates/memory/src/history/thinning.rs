//! Fewer points from many.

use whyoom_trace::Bytes;

/// The step at which at most `most` of `points` are kept.
pub(super) fn stride(points: usize, most: usize) -> usize {
    points.div_ceil(most.max(1)).max(1)
}

/// The range of an amount over two neighbouring points.
pub(super) fn widen((lowest, highest): (Bytes, Bytes), by: (Bytes, Bytes)) -> (Bytes, Bytes) {
    (lowest.min(by.0), highest.max(by.1))
}
