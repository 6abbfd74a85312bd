//! Matrix with matrix, and batches of small matrices: nothing is computed.

use crate::silent::silent;

silent! {
    // Products, rank updates and triangular solves.
    cublasCgemm3m cublasCgemm3m_64 cublasZgemm3m cublasZgemm3m_64
    cublasCgemm3mBatched cublasCgemm3mBatched_64
    cublasCgemm3mEx cublasCgemm3mEx_64
    cublasCgemm3mStridedBatched cublasCgemm3mStridedBatched_64
    cublasCgemmBatched cublasCgemmBatched_64 cublasDgemmBatched cublasDgemmBatched_64
    cublasHgemmBatched cublasHgemmBatched_64 cublasSgemmBatched cublasSgemmBatched_64
    cublasZgemmBatched cublasZgemmBatched_64
    cublasCgemmEx cublasCgemmEx_64 cublasGemmEx cublasGemmEx_64 cublasSgemmEx cublasSgemmEx_64
    cublasCgemmStridedBatched cublasCgemmStridedBatched_64 cublasDgemmStridedBatched
    cublasDgemmStridedBatched_64 cublasHgemmStridedBatched cublasHgemmStridedBatched_64
    cublasSgemmStridedBatched cublasSgemmStridedBatched_64 cublasZgemmStridedBatched
    cublasZgemmStridedBatched_64
    cublasCgemm_v2 cublasCgemm_v2_64 cublasDgemm_v2 cublasDgemm_v2_64 cublasHgemm cublasHgemm_64
    cublasSgemm_v2 cublasSgemm_v2_64 cublasZgemm_v2 cublasZgemm_v2_64
    cublasChemm_v2 cublasChemm_v2_64 cublasZhemm_v2 cublasZhemm_v2_64
    cublasCher2k_v2 cublasCher2k_v2_64 cublasZher2k_v2 cublasZher2k_v2_64
    cublasCherk3mEx cublasCherk3mEx_64
    cublasCherkEx cublasCherkEx_64
    cublasCherk_v2 cublasCherk_v2_64 cublasZherk_v2 cublasZherk_v2_64
    cublasCherkx cublasCherkx_64 cublasZherkx cublasZherkx_64
    cublasCsymm_v2 cublasCsymm_v2_64 cublasDsymm_v2 cublasDsymm_v2_64 cublasSsymm_v2
    cublasSsymm_v2_64 cublasZsymm_v2 cublasZsymm_v2_64
    cublasCsyr2k_v2 cublasCsyr2k_v2_64 cublasDsyr2k_v2 cublasDsyr2k_v2_64 cublasSsyr2k_v2
    cublasSsyr2k_v2_64 cublasZsyr2k_v2 cublasZsyr2k_v2_64
    cublasCsyrk3mEx cublasCsyrk3mEx_64
    cublasCsyrkEx cublasCsyrkEx_64
    cublasCsyrk_v2 cublasCsyrk_v2_64 cublasDsyrk_v2 cublasDsyrk_v2_64 cublasSsyrk_v2
    cublasSsyrk_v2_64 cublasZsyrk_v2 cublasZsyrk_v2_64
    cublasCsyrkx cublasCsyrkx_64 cublasDsyrkx cublasDsyrkx_64 cublasSsyrkx cublasSsyrkx_64
    cublasZsyrkx cublasZsyrkx_64
    cublasCtrmm_v2 cublasCtrmm_v2_64 cublasDtrmm_v2 cublasDtrmm_v2_64 cublasStrmm_v2
    cublasStrmm_v2_64 cublasZtrmm_v2 cublasZtrmm_v2_64
    cublasCtrsmBatched cublasCtrsmBatched_64 cublasDtrsmBatched cublasDtrsmBatched_64
    cublasStrsmBatched cublasStrsmBatched_64 cublasZtrsmBatched cublasZtrsmBatched_64
    cublasCtrsm_v2 cublasCtrsm_v2_64 cublasDtrsm_v2 cublasDtrsm_v2_64 cublasStrsm_v2
    cublasStrsm_v2_64 cublasZtrsm_v2 cublasZtrsm_v2_64
    cublasDgemmGroupedBatched cublasDgemmGroupedBatched_64 cublasSgemmGroupedBatched
    cublasSgemmGroupedBatched_64
    cublasGemmBatchedEx cublasGemmBatchedEx_64
    cublasGemmGroupedBatchedEx cublasGemmGroupedBatchedEx_64
    cublasGemmStridedBatchedEx cublasGemmStridedBatchedEx_64
    cublasUint8gemmBias

    // Sums, diagonal products and changes of format.
    cublasCdgmm cublasCdgmm_64 cublasDdgmm cublasDdgmm_64 cublasSdgmm cublasSdgmm_64 cublasZdgmm
    cublasZdgmm_64
    cublasCgeam cublasCgeam_64 cublasDgeam cublasDgeam_64 cublasSgeam cublasSgeam_64 cublasZgeam
    cublasZgeam_64
    cublasCtpttr cublasDtpttr cublasStpttr cublasZtpttr
    cublasCtrttp cublasDtrttp cublasStrttp cublasZtrttp

    // Factors and inverses in batches, whose `info` is on the device.
    cublasCgetrfBatched cublasDgetrfBatched cublasSgetrfBatched cublasZgetrfBatched
    cublasCgetriBatched cublasDgetriBatched cublasSgetriBatched cublasZgetriBatched
    cublasCmatinvBatched cublasDmatinvBatched cublasSmatinvBatched cublasZmatinvBatched
}
