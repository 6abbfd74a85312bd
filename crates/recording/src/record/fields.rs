//! How each type of field is written. One type has one encoding, wherever it stands.

use whyoom_trace::{
    Address, Bytes, Counter, HandleId, Limit, MarkKind, MemoryKind, ProcessState, SegmentGrowth,
    SizeClass, Software, StringId, Symptom, SyncScope,
};

use super::{
    Last,
    varint::{Pen, Scan},
};

/// A field of an action.
pub(super) trait Field: Sized {
    fn put(self, pen: &mut Pen<'_>, last: &mut Last);
    fn take(scan: &mut Scan<'_>, last: &mut Last) -> Option<Self>;
}

/// An address: the way from the address before.
impl Field for Address {
    #[inline]
    fn put(self, pen: &mut Pen<'_>, last: &mut Last) {
        pen.step(last.address, self.0);
        last.address = self.0;
    }

    #[inline]
    fn take(scan: &mut Scan<'_>, last: &mut Last) -> Option<Self> {
        last.address = scan.step(last.address)?;
        Some(Self(last.address))
    }
}

/// A handle: the way from the handle before.
impl Field for HandleId {
    #[inline]
    fn put(self, pen: &mut Pen<'_>, last: &mut Last) {
        pen.step(last.handle, self.0);
        last.handle = self.0;
    }

    #[inline]
    fn take(scan: &mut Scan<'_>, last: &mut Last) -> Option<Self> {
        last.handle = scan.step(last.handle)?;
        Some(Self(last.handle))
    }
}

/// Types that are a number.
macro_rules! numbers {
    ($($type:ty: $value:ident => $number:expr, $made:expr;)*) => {$(
        impl Field for $type {
            #[inline]
            fn put(self, pen: &mut Pen<'_>, _: &mut Last) {
                let $value = self;
                pen.number($number);
            }

            #[inline]
            fn take(scan: &mut Scan<'_>, _: &mut Last) -> Option<Self> {
                scan.small().map($made)
            }
        }
    )*};
}

numbers! {
    Bytes: value => value.0, Bytes;
    StringId: value => u64::from(value.0), StringId;
    u32: value => u64::from(value), |number| number;
    u64: value => value, |number| number;
}

/// Choices are one byte: their place in these lists. A new choice goes to the end of its list; the
/// lists are checked against the vocabulary when this is compiled.
macro_rules! choices {
    ($($type:ident: $($choice:ident)*;)*) => {$(
        const _: () = {
            let all = [$($type::$choice),*];
            let mut at = 0;
            while at < all.len() {
                assert!(all[at] as usize == at, "the list does not follow the vocabulary");
                at += 1;
            }
        };

        impl Field for $type {
            #[inline]
            fn put(self, pen: &mut Pen<'_>, _: &mut Last) {
                pen.byte(self as u8);
            }

            #[inline]
            fn take(scan: &mut Scan<'_>, _: &mut Last) -> Option<Self> {
                const ALL: &[$type] = &[$($type::$choice),*];
                ALL.get(usize::from(scan.byte()?)).copied()
            }
        }
    )*};
}

choices! {
    MemoryKind: Device StreamOrdered Array Managed Pinned Registered Imported;
    Limit: DeviceHeap Stack Printf ReleaseThreshold;
    SyncScope: Device Stream Event;
    SizeClass: Small Large;
    SegmentGrowth: Fixed Expandable;
    MarkKind: Iteration Phase;
    ProcessState: Untold Runs Orphan ZombieLeader Stuck Ghost Hangs Recorded;
    Counter: Requested DeviceTotal DeviceFree ProcessUsed Allocated Reserved Cached PrivateFree
        Allowed Preallocation Needed RoomLeft HostLimit HostResident PoolUsed PoolReserved
        PoolThreshold DeviceHeap;
    Symptom: DeviceOutOfMemory LibraryAllocFailed IndirectOom ReportFailed BogusSize LimitReached
        PreallocationFailed ShareTooSmall ShareTooLarge FreeMemoryChanged PinnedOutOfMemory HostOutOfMemory
        HostKilled Killed SettingTooLate WorkTooLarge UsageGrew
        HeldAfterEnd Described;
    Software: PyTorch CuBlas CuDnn CuFft TensorFlow Xla CuPy Rmm Nccl Vllm LlamaCpp Hami Kernel
        Supervisor OnnxRuntime TensorRt Triton Paddle MxNet XgBoost LightGbm Numba PyCuda CatBoost Dask CudaJl
        OpenCv Faiss CTranslate2 ExLlama Tgi SgLang Ray Ffmpeg Gromacs Lammps OpenMm
        AmrEx PhysX Renderer Miner Mps Mlx DirectMl Windows Jetson NumPy Program;
}
