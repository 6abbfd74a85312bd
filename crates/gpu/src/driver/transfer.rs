//! Bytes into a device's memory and out of it.
#![expect(unsafe_code, reason = "functions of the driver are called here")]

use super::{Code, Context, Driver, Stream, sys::opaque};

impl Driver {
    /// Lets the stream fill memory with a byte. The host does not wait.
    ///
    /// # Safety
    /// The range is memory of a device, mapped and accessible, and nobody minds that it changes: the
    /// driver would write to registered memory of the host as well.
    ///
    /// # Errors
    /// The driver's own.
    pub unsafe fn fill(
        &self,
        address: u64,
        byte: u8,
        size: u64,
        stream: Stream,
    ) -> Result<(), Code> {
        let fill = self.functions.fill_bytes;
        // SAFETY: the range may be written, by this function's contract; the stream is live, by its
        // type's.
        Code::check(unsafe { fill(address, byte, size as usize, opaque(stream.0)) })
    }

    /// Lets the stream copy from one device's memory to another's, also where neither reaches the other's. The
    /// host does not wait.
    ///
    /// # Safety
    /// Both ranges are memory of the devices of those contexts, mapped and accessible there.
    ///
    /// # Errors
    /// The driver's own.
    pub unsafe fn copy_between(
        &self,
        (target, there): (u64, Context),
        (source, here): (u64, Context),
        size: u64,
        stream: Stream,
    ) -> Result<(), Code> {
        let copy = self.functions.copy_between;
        let (there, here) = (opaque(there.0), opaque(here.0));
        // SAFETY: the ranges may be read and written, by this function's contract; the stream and the
        // contexts are live, by their types'.
        Code::check(unsafe { copy(target, there, source, here, size as usize, opaque(stream.0)) })
    }

    /// Reads memory of a device after the stream's work so far. The host waits.
    ///
    /// # Safety
    /// The range is memory of a device, mapped and accessible until this returns.
    ///
    /// # Errors
    /// The driver's own, of the work too; [`Code::STREAM_CAPTURE_UNSUPPORTED`] while the stream is
    /// capturing: the copy would be made later, to a place that is gone by then.
    pub unsafe fn read(&self, address: u64, into: &mut [u8], stream: Stream) -> Result<(), Code> {
        if self.stream_is_capturing(stream)? {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        let copy = self.functions.copy_to_host;
        // SAFETY: as many bytes are written as the slice has; it is not used before the stream's work
        // is over, which is waited for below. The range may be read, by this function's contract, and
        // the stream is live, by its type's.
        Code::check(unsafe {
            copy(into.as_mut_ptr().cast(), address, into.len(), opaque(stream.0))
        })?;
        self.stream_synchronize(stream)
    }
}
