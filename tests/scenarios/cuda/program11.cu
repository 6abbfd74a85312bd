// cudaFree(nullptr) and cudaDeviceReset, while another process holds 1 GiB; then a request for
// 1 GiB. Meant for a device of 2 GiB.
//
// Believed: that a reset clears the device. True: it ends only one's own context; the other process
// keeps what it holds until it ends.
#include <csignal>
#include <cstring>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

constexpr size_t HELD = 1 * GIB;
constexpr size_t REQUEST = 1 * GIB;

// The other process: takes its memory, says so, and stays.
static int hold() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    void *held = nullptr;
    const char done = cudaMalloc(&held, HELD) == cudaSuccess ? 'y' : 'n';
    if (write(STDOUT_FILENO, &done, 1) != 1) return 1;
    pause();
    return 0;
}

// Starts this program once more as the holder, before CUDA is touched here: a driver that has been
// used does not survive a fork.
static pid_t start_holder(const char *self, bool *holds) {
    int said[2];
    if (pipe(said) != 0) return -1;
    const pid_t holder = fork();
    if (holder == 0) {
        dup2(said[1], STDOUT_FILENO);
        close(said[0]);
        close(said[1]);
        execl("/proc/self/exe", self, "hold", static_cast<char *>(nullptr));
        _exit(127);
    }
    close(said[1]);
    char answer = 'n';
    *holds = read(said[0], &answer, 1) == 1 && answer == 'y';
    close(said[0]);
    return holder;
}

int main(int argc, char **argv) {
    if (argc > 1 && std::strcmp(argv[1], "hold") == 0) return hold();
    bool holds = false;
    const pid_t holder = start_holder(argv[0], &holds);

    Truth truth(11, "other-process");
    cudaFree(nullptr);
    const cudaError_t reset = cudaDeviceReset();
    void *buffer = nullptr;
    const cudaError_t result = cudaMalloc(&buffer, REQUEST);
    if (result != cudaSuccess) std::fprintf(stderr, "cudaMalloc: %s\n", cudaGetErrorString(result));

    const size_t free_with_holder = free_bytes();
    kill(holder, SIGKILL);
    waitpid(holder, nullptr, 0);
    const size_t free_without = free_bytes();

    truth.number("holder", holder);
    truth.number("held", HELD);
    truth.number("request", REQUEST);
    truth.number("free_with_holder", free_with_holder);
    truth.number("free_without_holder", free_without);
    truth.text("cudaDeviceReset", cudaGetErrorName(reset));
    truth.text("cudaMalloc", cudaGetErrorName(result));
    truth.must("the holder holds", holds);
    truth.must("the reset went well", reset == cudaSuccess);
    truth.must("the request is refused", result == cudaErrorMemoryAllocation);
    truth.must("the holder's end gives back what it held", free_without >= free_with_holder + HELD);
    truth.must("without the holder the request would fit", free_without >= REQUEST);
    return truth.tell();
}
