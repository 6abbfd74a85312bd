//! Functions that exist because other libraries are linked against them, and only refuse.

use whyoom_lab_abi::refusals;

use crate::status::Status;

refusals! { Status = Status::REFUSED;
    // Emulated precision, which cuSOLVER is linked against.
    cublasGetEmulationSpecialValuesSupport cublasGetFixedPointEmulationMantissaBitOffset
    cublasGetFixedPointEmulationMantissaControl cublasGetFixedPointEmulationMaxMantissaBitCount
    cublasSetEmulationSpecialValuesSupport cublasSetFixedPointEmulationMantissaBitOffset
    cublasSetFixedPointEmulationMantissaControl cublasSetFixedPointEmulationMaxMantissaBitCount
    cublasGetFixedPointEmulationMantissaBitCountPointer
    cublasSetFixedPointEmulationMantissaBitCountPointer

    // Logs, and rotations of mixed types.
    cublasGetLoggerCallback cublasLoggerConfigure cublasRotgEx cublasRotmgEx cublasSetLoggerCallback

    // Asked for by cuSOLVER, and documented nowhere: it does nothing here.


    // The several-device API, which libnvblas is linked against.
    cublasXtCgemm cublasXtChemm cublasXtCher2k cublasXtCherk cublasXtCreate cublasXtCsymm
    cublasXtCsyr2k cublasXtCsyrk cublasXtCtrmm cublasXtCtrsm cublasXtDestroy cublasXtDeviceSelect
    cublasXtDgemm cublasXtDsymm cublasXtDsyr2k cublasXtDsyrk cublasXtDtrmm cublasXtDtrsm
    cublasXtMaxBoards cublasXtSetBlockDim cublasXtSetCpuRatio cublasXtSetCpuRoutine
    cublasXtSetPinningMemMode cublasXtSgemm cublasXtSsymm cublasXtSsyr2k cublasXtSsyrk cublasXtStrmm
    cublasXtStrsm cublasXtZgemm cublasXtZhemm cublasXtZher2k cublasXtZherk cublasXtZsymm
    cublasXtZsyr2k cublasXtZsyrk cublasXtZtrmm cublasXtZtrsm
}
