// 256 MiB from the stream-ordered pool on each of four streams, freed again, with a release
// threshold that keeps them; then a cudaMalloc of 1 GiB. Meant for a device of 2 GiB.
//
// True: nothing is in use, and the pool still holds 1 GiB. Whether a cudaMalloc that would
// otherwise fail takes back what an idle pool holds is not documented: both outcomes are told, and
// either must agree with the pool's own figures.
#include <cstdint>

#include "truth.h"

static uint64_t pool_figure(cudaMemPool_t pool, cudaMemPoolAttr which) {
    uint64_t value = 0;
    cudaMemPoolGetAttribute(pool, which, &value);
    return value;
}

int main() {
    Truth truth(3, "mempool-held");
    const size_t part = 256 * MIB, request = 1 * GIB;

    cudaMemPool_t pool;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    uint64_t keep_all = UINT64_MAX;
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all);

    cudaStream_t streams[4];
    void *parts[4];
    for (int index = 0; index < 4; index++) {
        cudaStreamCreate(&streams[index]);
        cudaMallocAsync(&parts[index], part, streams[index]);
    }
    for (int index = 0; index < 4; index++) cudaFreeAsync(parts[index], streams[index]);
    for (int index = 0; index < 4; index++) cudaStreamSynchronize(streams[index]);

    const uint64_t used = pool_figure(pool, cudaMemPoolAttrUsedMemCurrent);
    const uint64_t reserved = pool_figure(pool, cudaMemPoolAttrReservedMemCurrent);
    const size_t free_before = free_bytes();

    void *buffer = nullptr;
    const cudaError_t result = cudaMalloc(&buffer, request);
    if (result != cudaSuccess) std::fprintf(stderr, "cudaMalloc: %s\n", cudaGetErrorString(result));
    const uint64_t reserved_after = pool_figure(pool, cudaMemPoolAttrReservedMemCurrent);

    truth.number("request", request);
    truth.number("pool_used", used);
    truth.number("pool_reserved", reserved);
    truth.number("pool_reserved_after", reserved_after);
    truth.number("free_before_request", free_before);
    truth.text("cudaMalloc", cudaGetErrorName(result));
    truth.must("nothing of the pool is in use", used == 0);
    truth.must("the pool keeps what was freed", reserved >= 4 * part);
    truth.must("the device alone has too little", free_before < request);
    truth.must("with the pool's bytes it has enough", free_before + reserved >= request);
    if (result == cudaSuccess) {
        truth.must("the pool gave bytes back", reserved_after < reserved);
    } else {
        truth.must("it ran out of memory", result == cudaErrorMemoryAllocation);
        truth.must("the pool kept its bytes", reserved_after >= 4 * part);
    }
    return truth.tell();
}
