//! The recording on disk: written by the recorder, read by everything else.
