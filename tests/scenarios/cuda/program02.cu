// A kernel with 4 MiB of dynamic shared memory, then 32 MiB of device memory.
//
// Believed: that the allocation failed, because the first check stands behind it. True: the launch
// failed (no device has 4 MiB of shared memory for a block) and nobody looked; memory is healthy.
#include "truth.h"

__global__ void sum_in_shared(const float *values, int count, float *sum) {
    extern __shared__ float partial[];
    partial[threadIdx.x] = threadIdx.x < count ? values[threadIdx.x] : 0.0f;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int index = 0; index < count; index++) *sum += partial[index];
    }
}

int main() {
    Truth truth(2, "unchecked-error");

    float *values, *sum;
    cudaMalloc(&values, 256 * sizeof(float));
    cudaMalloc(&sum, sizeof(float));
    sum_in_shared<<<1, 256, 4 * MIB>>>(values, 256, sum);

    void *buffer = nullptr;
    const cudaError_t allocation = cudaMalloc(&buffer, 32 * MIB);
    const cudaError_t seen = cudaPeekAtLastError();
    if (seen != cudaSuccess) {
        std::fprintf(stderr, "allocation of 32 MiB failed?! %s\n", cudaGetErrorString(seen));
    }

    int limit = 0;
    cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    truth.number("shared_memory_limit", limit);
    truth.number("shared_memory_asked", 4 * MIB);
    truth.number("free_at_end", free_bytes());
    truth.text("allocation", cudaGetErrorName(allocation));
    truth.text("last_error", cudaGetErrorName(seen));
    truth.must("the block asks for more than the device has", limit > 0 && limit < int(4 * MIB));
    truth.must("the allocation fits", allocation == cudaSuccess && buffer != nullptr);
    // The runtime's list of errors promises InvalidConfiguration; devices also say InvalidValue.
    truth.must("the launch's error is still there",
               seen == cudaErrorInvalidConfiguration || seen == cudaErrorInvalidValue);
    truth.must("synchronizing finds nothing, for nothing ran",
               cudaDeviceSynchronize() == cudaSuccess);
    return truth.tell();
}
