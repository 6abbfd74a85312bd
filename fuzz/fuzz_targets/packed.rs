//! Any bytes as the tar archive of a packed recording: it is unpacked, imported with what lies beside it, and judged.
//! Never a panic, and never more memory than its share.
#![no_main]

use std::{convert::Infallible, io::Write};

use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;
use whyoom_reading::{Inquiry, Packed};

fuzz_target!(|bytes: &[u8]| {
    // Compressed here: a checksum would stop nearly all of them.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::none());
    gzip.write_all(bytes).unwrap();
    let Ok(packed) = Packed::unpack("run.tar.gz", &*gzip.finish().unwrap()) else { return };
    let mut inquiry = Inquiry::new(bytes.len().is_multiple_of(2));
    if inquiry.take_packed(&packed).is_err() {
        return;
    }
    let Ok(_) = inquiry.judge(|tables, workloads| {
        let _ = packed.import_all(tables, workloads);
        Ok::<(), Infallible>(())
    });
});
