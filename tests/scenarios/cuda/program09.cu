// One request of 4 GiB. Meant for a device of 2 GiB.
//
// True: it exceeds the device on its own; nothing that could be freed would help.
#include "truth.h"

int main() {
    Truth truth(9, "request-too-big");

    float *matrix = nullptr;
    const cudaError_t result = cudaMalloc(&matrix, 4 * GIB);
    if (result != cudaSuccess) std::fprintf(stderr, "cudaMalloc: %s\n", cudaGetErrorString(result));

    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    truth.number("request", 4 * GIB);
    truth.number("capacity", total);
    truth.number("free_at_end", free);
    truth.text("cudaMalloc", cudaGetErrorName(result));
    truth.must("the device is smaller than the request", total > 0 && total < 4 * GIB);
    truth.must("the request is refused", result == cudaErrorMemoryAllocation);
    truth.must("nothing was taken", about(free, truth.free_at_start(), SLACK));
    return truth.tell();
}
