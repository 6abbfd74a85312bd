// What a simulated call costs, against a system call pair that every machine has: mmap and munmap
// of the same size, without touching a page. Prints nanoseconds a pair or a launch, as JSON.
#include <chrono>
#include <cstdio>
#include <sys/mman.h>

#include <cuda_runtime.h>

static const size_t SIZE = 4 << 20;
static const int ROUNDS = 20000;

__global__ void nothing() {}

// The best of five runs: what is measured is the call, not what else the machine does.
template <typename Call>
static double nanoseconds(Call call) {
    double best = 1e18;
    for (int run = 0; run < 5; run++) {
        auto start = std::chrono::steady_clock::now();
        for (int round = 0; round < ROUNDS; round++) call();
        std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
        if (taken.count() / ROUNDS < best) best = taken.count() / ROUNDS;
    }
    return best;
}

int main() {
    cudaFree(nullptr);
    double mapping = nanoseconds([] {
        void* place = mmap(nullptr, SIZE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        munmap(place, SIZE);
    });
    double allocation = nanoseconds([] {
        void* place = nullptr;
        cudaMalloc(&place, SIZE);
        cudaFree(place);
    });
    double launch = nanoseconds([] { nothing<<<1, 32>>>(); });
    bool failed = cudaGetLastError() != cudaSuccess;
    printf("{\"mmap_munmap_ns\":%.1f,\"cudaMalloc_cudaFree_ns\":%.1f,\"launch_ns\":%.1f,"
           "\"holds\":%s}\n", mapping, allocation, launch, failed ? "false" : "true");
    return failed;
}
