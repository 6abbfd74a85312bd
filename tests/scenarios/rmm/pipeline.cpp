// A pipeline over RMM that keeps one result of every batch on the device, with RMM's own log.
//
//   pipeline LOG cuda|pool
//
// It ends when an allocation fails, and then says what it had in use, and what it had asked for:
//   {"bytes": N, "asked": N, "allocations": N}

#include <rmm/cuda_stream.hpp>
#include <rmm/mr/device/cuda_memory_resource.hpp>
#include <rmm/mr/device/device_memory_resource.hpp>
#include <rmm/mr/device/logging_resource_adaptor.hpp>
#include <rmm/mr/device/pool_memory_resource.hpp>

#include <cstdio>
#include <string>

using Resource = rmm::mr::device_memory_resource;

namespace {

constexpr std::size_t MIB = 1 << 20;

struct Tally {
    std::size_t in_use = 0, asked = 0, allocations = 0;

    void* allocate(Resource& memory, std::size_t bytes, rmm::cuda_stream_view stream) {
        asked = bytes;
        void* pointer = memory.allocate(bytes, stream);
        in_use += bytes;
        ++allocations;
        return pointer;
    }

    void free(Resource& memory, void* pointer, std::size_t bytes, rmm::cuda_stream_view stream) {
        memory.deallocate(pointer, bytes, stream);
        in_use -= bytes;
    }
};

void run(Resource& memory) {
    Tally tally;
    rmm::cuda_stream first, second;
    try {
        for (std::size_t batch = 0;; ++batch) {
            auto stream = batch % 2 == 0 ? first.view() : second.view();
            std::size_t column = (48 + 16 * (batch % 3)) * MIB;
            void* input = tally.allocate(memory, column, stream);
            void* sorted = tally.allocate(memory, column + 256, stream);
            // What the batch leaves behind: nobody gives it back.
            tally.allocate(memory, 24 * MIB, stream);
            tally.free(memory, input, column, stream);
            tally.free(memory, sorted, column + 256, stream);
        }
    } catch (rmm::bad_alloc const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        std::printf("{\"bytes\": %zu, \"asked\": %zu, \"allocations\": %zu}\n", tally.in_use, tally.asked,
                    tally.allocations);
    }
}

}  // namespace

int main(int, char** arguments) {
    rmm::mr::cuda_memory_resource cuda;
    if (std::string{arguments[2]} == "cuda") {
        rmm::mr::logging_resource_adaptor<rmm::mr::cuda_memory_resource> log{&cuda, arguments[1], true};
        run(log);
        return 0;
    }
    using Pool = rmm::mr::pool_memory_resource<rmm::mr::cuda_memory_resource>;
    Pool pool{&cuda, 256 * MIB, 768 * MIB};
    rmm::mr::logging_resource_adaptor<Pool> log{&pool, arguments[1], true};
    run(log);
}
