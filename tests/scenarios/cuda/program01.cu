// Allocates and frees seven sizes one after another, then asks for 32 MiB.
//
// Believed: that this fragments the device. True: nothing is live, nothing is fragmented.
#include "truth.h"

int main() {
    Truth truth(1, "healthy");

    const size_t sizes[] = {1 * MIB, 3 * MIB, 7 * MIB, 16 * MIB, 5 * MIB, 64 * MIB, 24 * MIB};
    for (size_t size : sizes) {
        void *buffer;
        cudaMalloc(&buffer, size);
        cudaMemset(buffer, 0, size);
        cudaFree(buffer);
    }

    const size_t free_between = free_bytes();
    void *last;
    const cudaError_t result = cudaMalloc(&last, 32 * MIB);
    cudaFree(last);

    truth.number("free_before_last", free_between);
    truth.number("free_at_end", free_bytes());
    truth.text("last_request", cudaGetErrorName(result));
    truth.must("the last request fits", result == cudaSuccess);
    truth.must("all came back before it", about(free_between, truth.free_at_start(), SLACK));
    truth.must("all came back after it", about(free_bytes(), truth.free_at_start(), SLACK));
    truth.must("no call failed", cudaPeekAtLastError() == cudaSuccess);
    return truth.tell();
}
