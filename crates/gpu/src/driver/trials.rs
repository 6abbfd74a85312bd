//! Trials of the driver itself: work that lasts, and one page at two addresses.
#![expect(unsafe_code, reason = "functions of the driver are called here")]

use std::{
    ffi::{CStr, c_void},
    ptr,
};

use super::{Code, Driver, Stream, sys};

/// A kernel that counts clock cycles until so many have passed, for the oldest GPUs that drivers compile for.
const SPIN: &CStr = c"
.version 6.0
.target sm_50
.address_size 64
.visible .entry whyoom_spin(.param .u64 cycles)
{
    .reg .pred %p<2>;
    .reg .u64 %r<4>;
    ld.param.u64 %r1, [cycles];
    mov.u64 %r2, %clock64;
SPIN:
    mov.u64 %r3, %clock64;
    sub.u64 %r3, %r3, %r2;
    setp.lt.u64 %p1, %r3, %r1;
    @%p1 bra SPIN;
    ret;
}
";

impl Driver {
    /// Keeps the stream busy for so many clock cycles of the device. The host does not wait.
    ///
    /// # Errors
    /// The driver's own: it may not compile for this device.
    pub fn spin(&self, cycles: u64, stream: Stream) -> Result<(), Code> {
        let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
        let functions = &self.functions;
        // SAFETY: one handle is written to the place given for it; the text ends with a nul.
        Code::check(unsafe { (functions.module_load)(&raw mut module, SPIN.as_ptr()) })?;
        let name = c"whyoom_spin".as_ptr();
        // SAFETY: the module is loaded, and stays so; one handle is written to the place given for it.
        Code::check(unsafe { (functions.module_function)(&raw mut function, module, name) })?;
        let mut cycles = cycles;
        let mut arguments = [(&raw mut cycles).cast::<c_void>()];
        let launch = functions.launch;
        let stream = sys::opaque(stream.0);
        // SAFETY: the kernel has one argument of 64 bits, which the driver copies before it returns; it uses no memory.
        Code::check(unsafe {
            launch(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments.as_mut_ptr(), ptr::null_mut())
        })
    }

    /// Whether what is written to a page at one address is read at another where the same page is mapped. On the
    /// current context's device, which is this one.
    ///
    /// # Errors
    /// The driver's own.
    pub fn one_page_at_two_addresses(&self, device: u32, page: u64) -> Result<bool, Code> {
        const BYTE: u8 = 0x5a;
        let address = self.reserve(2 * page)?;
        let handle = self.create(device, page)?;
        self.map(address, page, handle)?;
        self.map(address + page, page, handle)?;
        self.set_access(address, 2 * page, &[device])?;
        let stream = Stream::LEGACY;
        let mut read = [0; 64];
        // SAFETY: both ranges were just mapped and made accessible, and nobody else knows of them.
        unsafe {
            self.fill(address, BYTE, page, stream)?;
            self.read(address + page, &mut read, stream)?;
        }
        self.unmap(address, 2 * page)?;
        self.release(handle)?;
        self.unreserve(address, 2 * page)?;
        Ok(read == [BYTE; 64])
    }
}
