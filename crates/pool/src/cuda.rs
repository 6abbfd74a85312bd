//! A device of the CUDA driver.

use std::sync::Arc;

use whyoom_allocators::PAGE;
use whyoom_gpu::driver::{self as gpu, Code, Context, PhysicalHandle};

use crate::{
    driver::{Answer, Driver, Event, Physical, Stream},
    error::PoolError,
    refusal::Refusal,
};

/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
const RELAXED: u32 = 2;

/// A device of the CUDA driver.
pub struct CudaDevice {
    driver: Arc<gpu::Driver>,
    device: u32,
    total: u64,
    /// The device itself, and those that can reach its memory.
    reached_by: Vec<u32>,
}

impl CudaDevice {
    /// The device of that number.
    ///
    /// # Errors
    /// There is none, or none whose memory can be mapped by pages.
    pub fn new(driver: Arc<gpu::Driver>, device: u32) -> Result<Self, PoolError> {
        let none = |_| PoolError::NoDevice(format!("there is no GPU {device}"));
        let total = driver.total_memory(device).map_err(none)?;
        if let Some(why) = driver.why_no_pages(device, PAGE).map_err(none)? {
            return Err(PoolError::CannotServe(why));
        }
        // Peer access that a program switches on does not reach memory that was mapped: it is given
        // from the start.
        let peer = |other: &u32| {
            *other == device || driver.can_access_peer(*other, device).unwrap_or(false)
        };
        let reached_by = (0..driver.device_count().map_err(none)?).filter(peer).collect();
        Ok(Self { driver, device, total, reached_by })
    }

    /// Runs a call with a context of this device: that of the caller where it has one, for the time of
    /// the call the device's own where it has not.
    fn in_context<T>(&self, call: impl FnOnce(&gpu::Driver) -> Result<T, Code>) -> Answer<T> {
        let answer = match self.foreign_context() {
            Ok(None) => call(&self.driver),
            Ok(Some(context)) => {
                self.driver.with_context(context, || call(&self.driver)).and_then(|answer| answer)
            }
            Err(code) => Err(code),
        };
        answer.map_err(refusal)
    }

    /// The context that has to be made current; none where the caller's will do.
    fn foreign_context(&self) -> Result<Option<Context>, Code> {
        match self.driver.current_device() {
            Ok(device) if device == self.device => Ok(None),
            _ => self.driver.retain_primary(self.device).map(Some),
        }
    }
}

fn refusal(code: Code) -> Refusal {
    Refusal(code.0)
}

fn stream(stream: Stream) -> gpu::Stream {
    gpu::Stream(stream.0)
}

impl Driver for CudaDevice {
    fn total(&self) -> u64 {
        self.total
    }

    fn free(&self) -> Answer<u64> {
        self.in_context(gpu::Driver::memory_info).map(|(free, _)| free)
    }

    fn reserve(&self, size: u64) -> Answer<u64> {
        self.in_context(|driver| driver.reserve(size))
    }

    fn create(&self, size: u64) -> Answer<Physical> {
        self.in_context(|driver| driver.create(self.device, size)).map(|memory| Physical(memory.0))
    }

    fn release(&self, memory: Physical) -> Answer<()> {
        self.in_context(|driver| driver.release(PhysicalHandle(memory.0)))
    }

    fn map(&self, address: u64, size: u64, memory: Physical) -> Answer<()> {
        self.in_context(|driver| driver.map(address, size, PhysicalHandle(memory.0)))
    }

    fn allow(&self, address: u64, size: u64) -> Answer<()> {
        self.in_context(|driver| driver.set_access(address, size, &self.reached_by))
    }

    fn unmap(&self, address: u64, size: u64) -> Answer<()> {
        self.in_context(|driver| driver.unmap(address, size))
    }

    fn event(&self) -> Answer<Event> {
        self.in_context(gpu::Driver::event_create).map(|event| Event(event.0))
    }

    fn record(&self, event: Event, on: Stream) -> Answer<()> {
        self.in_context(|driver| driver.event_record(gpu::Event(event.0), stream(on)))
    }

    fn has_passed(&self, event: Event) -> Answer<bool> {
        self.in_context(|driver| driver.event_query(gpu::Event(event.0)))
    }

    fn wait(&self, event: Event) -> Answer<()> {
        self.in_context(|driver| driver.event_synchronize(gpu::Event(event.0)))
    }

    fn order(&self, on: Stream, event: Event) -> Answer<()> {
        self.in_context(|driver| driver.stream_wait(stream(on), gpu::Event(event.0)))
    }

    fn is_capturing(&self, on: Stream) -> Answer<bool> {
        match self.in_context(|driver| driver.stream_is_capturing(stream(on))) {
            // The default stream cannot be captured; it is asked while another is.
            Err(Refusal(code)) if code == Code::STREAM_CAPTURE_IMPLICIT.0 => Ok(false),
            answer => answer,
        }
    }

    fn relax(&self) -> u32 {
        self.driver.exchange_capture_mode(RELAXED).unwrap_or(RELAXED)
    }

    fn strict_again(&self, before: u32) {
        let _ = self.driver.exchange_capture_mode(before);
    }

    fn finish(&self, on: Stream) -> Answer<()> {
        self.in_context(|driver| driver.stream_synchronize(stream(on)))
    }

    fn synchronize(&self) -> Answer<()> {
        self.in_context(gpu::Driver::context_synchronize)
    }

    fn fill(&self, address: u64, byte: u8, size: u64, on: Stream) -> Answer<()> {
        // SAFETY: the pool fills only its own mapped memory, behind the bytes that a program asked for.
        self.in_context(|driver| unsafe { driver.fill(address, byte, size, stream(on)) })
    }

    fn read(&self, address: u64, into: &mut [u8], on: Stream) -> Answer<()> {
        // SAFETY: the pool reads only its own mapped memory, of a block that lives during the call.
        self.in_context(|driver| unsafe { driver.read(address, into, stream(on)) })
    }
}
