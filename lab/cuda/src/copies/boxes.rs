//! Copies in three dimensions.

use cudarc::driver::sys;
use whyoom_lab_core::{
    Error,
    driver::{Box3, Side, Work},
};

use crate::{process::with, status::Result};

/// `CUDA_MEMCPY3D`, with its enumerations as numbers: C may pass any.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Copy3D {
    source: End,
    target: End,
    width: usize,
    height: usize,
    depth: usize,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct End {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: u64,
    reserved: u64,
    pitch: usize,
    height: usize,
}

const _: () = assert!(size_of::<Copy3D>() == size_of::<sys::CUDA_MEMCPY3D>());

/// `CU_MEMORYTYPE_UNIFIED`.
const UNIFIED: u32 = 4;

impl End {
    /// Where the first row starts, and how far rows and slices are apart.
    fn side(&self) -> Result<Side> {
        if self.level != 0 {
            return Err(Error::NotSupported.into());
        }
        let (base, pitch, height) = match self.kind {
            1 => (self.host, self.pitch as u64, self.height as u64),
            2 | UNIFIED => (self.device, self.pitch as u64, self.height as u64),
            3 => with(|driver| {
                let (base, pitch) = driver.array_place(self.array)?;
                Ok((base, pitch, driver.array_shape(self.array)?.height))
            })?,
            _ => return Err(Error::InvalidValue.into()),
        };
        let slice = pitch.checked_mul(height).ok_or(Error::InvalidValue)?;
        let distances = [(self.x as u64, 1), (self.y as u64, pitch), (self.z as u64, slice)];
        let start = distances
            .iter()
            .try_fold(base, |start, (count, step)| start.checked_add(count.checked_mul(*step)?));
        Ok(Side { start: start.ok_or(Error::InvalidValue)?, pitch, slice })
    }

    fn of(side: &Side) -> Self {
        Self {
            kind: UNIFIED,
            device: side.start,
            pitch: side.pitch as usize,
            height: side.slice.checked_div(side.pitch).unwrap_or_default() as usize,
            ..Self::default()
        }
    }
}

impl Copy3D {
    /// The copy. Arrays are looked up here: a node keeps places.
    pub(crate) fn work(&self) -> Result<Work> {
        let (target, source) = (self.target.side()?, self.source.side()?);
        let size = [self.width, self.height, self.depth].map(|side| side as u64);
        let [width, height, depth] = size;
        Ok(Work::Copy(Box3 { target, source, width, height, depth }))
    }

    /// A copy as the API describes it: by unified addresses, whatever it was described by before.
    pub(crate) fn of(copy: &Box3) -> Self {
        Self {
            source: End::of(&copy.source),
            target: End::of(&copy.target),
            width: copy.width as usize,
            height: copy.height as usize,
            depth: copy.depth as usize,
        }
    }
}
