//! The variables of the environment that are recorded.

/// Those that decide about memory. All others are not written down, whatever they begin with: a variable that a
/// cause comes to need is added here.
const RECORDED: &[&str] = &[
    "CUBLASLT_WORKSPACE_SIZE",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_MEMORY_LIMIT",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MANAGED_FORCE_DEVICE_ALLOC",
    "CUDA_MODULE_LOADING",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
    "CUDA_VISIBLE_DEVICES",
    "NCCL_BUFFSIZE",
    "NCCL_CUMEM_ENABLE",
    "NCCL_LL128_BUFFSIZE",
    "NCCL_LL_BUFFSIZE",
    "NCCL_MAX_CTAS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_NVLS_ENABLE",
    "NCCL_P2P_DISABLE",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "PYTORCH_NO_HIP_MEMORY_CACHING",
    "RANK",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
    "TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT",
    "WHYOOM_POOL_CAP",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
];

/// Whether a variable of the environment may be recorded.
#[must_use]
pub fn is_recorded(name: &[u8]) -> bool {
    RECORDED.iter().any(|recorded| recorded.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_has_each_once() {
        assert!(RECORDED.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn only_what_is_listed_is_recorded() {
        for name in ["PYTORCH_CUDA_ALLOC_CONF", "CUDA_VISIBLE_DEVICES", "NCCL_BUFFSIZE"] {
            assert!(is_recorded(name.as_bytes()), "{name}");
        }
        for name in ["CUDA_API_TOKEN", "NCCL_SECRET", "NCCL_SOCKET_IFNAME", "PYTORCH_KEY", "PATH"] {
            assert!(!is_recorded(name.as_bytes()), "{name}");
        }
    }
}
