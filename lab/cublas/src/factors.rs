//! Batched solvers that tell the host at once whether their arguments were right: they were.
//!
//! `getrf`, `getri` and `matinv` write their `info` on the device, so they are among
//! [`crate::matrices`].

use whyoom_lab_abi::{Out, exports};

use crate::{handle::HandlePointer, status::Status};

/// An argument that is not looked at.
type Any = usize;

macro_rules! solvers {
    (seventh { $($seventh:ident)* } tenth { $($tenth:ident)* }) => {
        exports! { Status;
            $(fn $seventh(
                handle: HandlePointer, _m: Any, _n: Any, _a: Any, _lda: Any, _tau: Any,
                info: Out<i32>,
            ) {
                handle.get()?;
                Ok(info.put(0)?)
            })*
            $(fn $tenth(
                handle: HandlePointer, _trans: Any, _2: Any, _3: Any, _4: Any, _5: Any, _6: Any,
                _7: Any, _8: Any, info: Out<i32>,
            ) {
                handle.get()?;
                Ok(info.put(0)?)
            })*
        }
    };
}

solvers! {
    seventh { cublasSgeqrfBatched cublasDgeqrfBatched cublasCgeqrfBatched cublasZgeqrfBatched }
    tenth {
        cublasSgetrsBatched cublasDgetrsBatched cublasCgetrsBatched cublasZgetrsBatched
        cublasSgelsBatched cublasDgelsBatched cublasCgelsBatched cublasZgelsBatched
    }
}
