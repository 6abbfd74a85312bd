// A kernel whose threads each `new` a large array.
//
// True: the fixed heap for in-kernel allocation (8 MiB unless set) is full, not the device. On a
// device `new` gives a null pointer then, and the store through it fails at the next synchronize.
// The simulated device computes nothing, so it is told to give this kernel that effect:
// --kernel allocate_in_kernel=heap-exhausted
#include "truth.h"

constexpr int THREADS = 256;
constexpr int NUMBERS = 1 << 20;

// Under its plain name, so that the effect can be asked for by it.
extern "C" __global__ void allocate_in_kernel(int *sums) {
    int *numbers = new int[NUMBERS];
    numbers[0] = threadIdx.x;
    numbers[NUMBERS - 1] = blockIdx.x;
    sums[threadIdx.x] = numbers[0] + numbers[NUMBERS - 1];
    delete[] numbers;
}

int main() {
    Truth truth(7, "device-heap");

    int *sums;
    cudaMalloc(&sums, THREADS * sizeof(int));
    size_t heap = 0;
    cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
    const size_t free_before = free_bytes();

    allocate_in_kernel<<<1, THREADS>>>(sums);
    const cudaError_t launch = cudaGetLastError();
    const cudaError_t synchronize = cudaDeviceSynchronize();
    if (synchronize != cudaSuccess) {
        std::fprintf(stderr, "kernel failed: %s\n", cudaGetErrorString(synchronize));
    }

    void *more = nullptr;
    const cudaError_t afterwards = cudaMalloc(&more, 1 * MIB);

    const size_t asked = sizeof(int) * size_t{NUMBERS} * THREADS;
    truth.number("heap_limit", heap);
    truth.number("heap_asked", asked);
    truth.number("free_before_launch", free_before);
    truth.text("launch", cudaGetErrorName(launch));
    truth.text("synchronize", cudaGetErrorName(synchronize));
    truth.text("afterwards", cudaGetErrorName(afterwards));
    truth.must("the heap has its default size", heap == 8 * MIB);
    truth.must("the kernel asks the heap for more than it has", asked > heap);
    truth.must("the device has room for it", free_before > asked);
    truth.must("the launch itself is fine", launch == cudaSuccess);
    truth.must("the synchronize fails",
               synchronize == cudaErrorIllegalAddress || synchronize == cudaErrorLaunchFailure);
    // Documented of both: all further work of the process gets the same error.
    truth.must("the error stays", afterwards == synchronize);
    return truth.tell();
}
