// Every second batch throws between the allocation and the free; the loop goes on.
//
// True: 64 MiB are lost at each throw, at one site, until a request fails. At exit the driver takes
// everything back: a program started next finds the device as free as this one did.
#include <stdexcept>

#include "truth.h"

constexpr size_t SCRATCH = 64 * MIB;
constexpr int BATCHES = 200;

struct OutOfMemory {};

static void check_record(int batch) {
    if (batch % 2 == 1) throw std::runtime_error("record without a label");
}

static void process_batch(int batch) {
    void *scratch;
    if (cudaMalloc(&scratch, SCRATCH) != cudaSuccess) throw OutOfMemory{};
    cudaMemset(scratch, 0, MIB);
    check_record(batch);
    cudaFree(scratch);
}

int main() {
    Truth truth(10, "growth");

    int skipped = 0, batch = 0;
    const char *ended = "all batches done";
    for (; batch < BATCHES; batch++) {
        try {
            process_batch(batch);
        } catch (const std::runtime_error &) {
            skipped++;
        } catch (const OutOfMemory &) {
            ended = cudaGetErrorName(cudaGetLastError());
            std::fprintf(stderr, "batch %d: out of memory\n", batch);
            break;
        }
    }

    const size_t free = free_bytes();
    truth.number("batches", batch);
    truth.number("lost", skipped * SCRATCH);
    truth.number("free_at_end", free);
    truth.text("ended", ended);
    truth.must("something was lost", skipped > 0);
    truth.must("what is missing is what was lost",
               about(truth.free_at_start() - free, skipped * SCRATCH, SLACK));
    return truth.tell();
}
