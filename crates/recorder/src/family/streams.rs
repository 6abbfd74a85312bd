//! The end of a stream: whyoom's pool is told of it, and nothing is recorded.

use crate::{declare::hooks, serve};

hooks! { Streams;
    Required (stream: u64)
    [cuStreamDestroy_v2 = "cuStreamDestroy" since 4000]
    told { serve::stream_gone(stream) }
}
