//! The call stack of the calling thread, native and Python frames, cheap enough to leave on.
