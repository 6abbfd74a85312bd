// Each round takes a pinned host buffer and a device buffer, and gives back only the latter.
//
// True: the device is healthy; pinned host memory grows with every round. Page-locked memory is no
// cache that the system could drop.
#include <cstring>

#include "truth.h"

constexpr int ROUNDS = 32;
constexpr size_t BATCH = 4 * MIB;

static void *upload_batch(int round) {
    void *host, *device;
    if (cudaMallocHost(&host, BATCH) != cudaSuccess) return nullptr;
    std::memset(host, round, BATCH);
    cudaMalloc(&device, BATCH);
    cudaMemcpy(device, host, BATCH, cudaMemcpyHostToDevice);
    cudaFree(device);
    return host;
}

int main() {
    Truth truth(8, "pinned-host");

    // Kept here only so that the end can ask the driver about them; the program has lost them.
    void *lost[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) lost[round] = upload_batch(round);

    size_t pinned = 0;
    for (void *buffer : lost) {
        cudaPointerAttributes attributes;
        if (cudaPointerGetAttributes(&attributes, buffer) == cudaSuccess &&
            attributes.type == cudaMemoryTypeHost) {
            pinned += BATCH;
        }
    }

    truth.number("pinned_live", pinned);
    truth.number("free_at_end", free_bytes());
    truth.must("every pinned buffer is still pinned", pinned == ROUNDS * BATCH);
    truth.must("the device is as free as at the start",
               about(free_bytes(), truth.free_at_start(), SLACK));
    truth.must("no call failed", cudaPeekAtLastError() == cudaSuccess);
    return truth.tell();
}
