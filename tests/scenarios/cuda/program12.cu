// Frees all that it allocates, and calls a library that does not.
//
// True: what is live at exit belongs to libleaky.so, not to this program.
#include "leaky.h"
#include "truth.h"

constexpr int CALLS = 32;
constexpr int COUNT = 1 << 20;

int main() {
    Truth truth(12, "leak-at-exit");

    int failed = 0;
    for (int call = 0; call < CALLS; call++) {
        float *numbers;
        cudaMalloc(&numbers, COUNT * sizeof(float));
        failed += leaky_scale(numbers, COUNT, 0.5f);
        cudaFree(numbers);
    }

    const size_t free = free_bytes();
    truth.number("calls", CALLS);
    truth.number("lost_in_library", CALLS * LEAKED_PER_CALL);
    truth.number("free_at_end", free);
    truth.must("every call went well", failed == 0);
    truth.must("what is missing is what the library lost",
               about(truth.free_at_start() - free, CALLS * LEAKED_PER_CALL, SLACK_WITH_KERNELS));
    truth.must("no call failed", cudaPeekAtLastError() == cudaSuccess);
    return truth.tell();
}
