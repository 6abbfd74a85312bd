// The library of program 12: each call takes scratch memory and never gives it back.
#include "leaky.h"

__global__ void scale(float *numbers, int count, float factor) {
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < count) numbers[index] *= factor;
}

extern "C" int leaky_scale(float *numbers, int count, float factor) {
    void *scratch;
    if (cudaMalloc(&scratch, LEAKED_PER_CALL) != cudaSuccess) return 1;
    scale<<<(count + 255) / 256, 256>>>(numbers, count, factor);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
