// whyoom_pool.hpp: GPU memory from whyoom's pool, for C++17. Header only; link with -lwhyoom_pool.
//
//     whyoom::pool_resource pool{0};                                  // of device 0
//     auto block = whyoom::make_unique<float>(pool, 1 << 20, stream); // freed on `stream`, with its owner
//     kernel<<<grid, threads, 0, stream>>>(block.get());
//
// A resource has `allocate(bytes, stream)`, which throws whyoom::bad_alloc, and a `deallocate(address, bytes,
// stream)` that throws nothing. Adaptors are resources that stand on another one, which must outlive them:
//
//     whyoom::limit_adaptor limited{pool, std::size_t{4} << 30};
//     whyoom::statistics_adaptor counted{limited};
//     whyoom::log_adaptor logged{counted, file};                      // in RMM's format
//
// All of them may be used by all threads. What is promised of streams, captures and fork: whyoom_pool.h.
#ifndef WHYOOM_POOL_HPP
#define WHYOOM_POOL_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <ostream>
#include <string>
#include <utility>

#include <sys/syscall.h>
#include <unistd.h>

#include "whyoom_pool.h"

namespace whyoom {

// No memory; what() says why and what to do.
class bad_alloc : public std::bad_alloc {
public:
    explicit bad_alloc(const std::string &message, int code = WHYOOM_POOL_OUT_OF_MEMORY)
        : message_(std::make_shared<const std::string>(message)), code_(code) {}
    const char *what() const noexcept override { return message_->c_str(); }
    int code() const noexcept { return code_; } // WHYOOM_POOL_OUT_OF_MEMORY ...

private:
    std::shared_ptr<const std::string> message_; // copies of an exception may not throw
    int code_;
};

// The pool of one device. Copies are the same pool.
class pool_resource {
public:
    explicit pool_resource(int device) noexcept : device_(device) {}

    void *allocate(std::size_t bytes, void *stream = nullptr) {
        void *address = nullptr;
        const int code = whyoom_pool_alloc(device_, bytes, stream, &address);
        if (code != WHYOOM_POOL_OK) {
            throw bad_alloc(whyoom_pool_message(), code);
        }
        return address;
    }

    // What the pool does not take back (no block of its own, freed twice) is told by whyoom_pool_message.
    void deallocate(void *address, std::size_t, void *stream = nullptr) noexcept {
        (void)whyoom_pool_free(address, stream);
    }

    // `stream` uses the block too, beside the one that it was allocated for.
    void use(void *address, void *stream) {
        const int code = whyoom_pool_use(address, stream);
        if (code != WHYOOM_POOL_OK) {
            throw bad_alloc(whyoom_pool_message(), code);
        }
    }

    whyoom_pool_statistics statistics() const noexcept {
        whyoom_pool_statistics figures{};
        figures.size = sizeof figures;
        (void)whyoom_pool_read_statistics(device_, &figures);
        return figures;
    }

    int device() const noexcept { return device_; }

private:
    int device_;
};

// ---- Ownership ----

template <class Resource> class deleter {
public:
    deleter(Resource &resource, std::size_t bytes, void *stream) noexcept
        : resource_(&resource), bytes_(bytes), stream_(stream) {}

    void operator()(void *address) const noexcept { resource_->deallocate(address, bytes_, stream_); }

    // The work that uses the block last is on another stream from now on.
    void set_stream(void *stream) noexcept { stream_ = stream; }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    Resource *resource_;
    std::size_t bytes_;
    void *stream_;
};

template <class T, class Resource> using unique_ptr = std::unique_ptr<T, deleter<Resource>>;

// Room for `count` values of T, not initialized: the address is the device's, nothing on the host may look there.
template <class T, class Resource>
unique_ptr<T, Resource> make_unique(Resource &resource, std::size_t count, void *stream = nullptr) {
    if (count > SIZE_MAX / sizeof(T)) {
        throw bad_alloc("more bytes were asked for than can be counted");
    }
    const std::size_t bytes = count * sizeof(T);
    T *address = static_cast<T *>(resource.allocate(bytes, stream));
    return {address, deleter<Resource>(resource, bytes, stream)};
}

// ---- Adaptors ----

// At most so many bytes. A request takes its share before the resource below is asked, and gives it back after
// that has taken the memory: no number of threads passes the limit.
template <class Below> class limit_adaptor {
public:
    limit_adaptor(Below &below, std::size_t limit) noexcept : below_(&below), limit_(limit) {}

    void *allocate(std::size_t bytes, void *stream = nullptr) {
        take(bytes);
        try {
            return below_->allocate(bytes, stream);
        } catch (...) {
            allocated_ -= bytes;
            throw;
        }
    }

    void deallocate(void *address, std::size_t bytes, void *stream = nullptr) noexcept {
        below_->deallocate(address, bytes, stream);
        allocated_ -= bytes;
    }

    std::size_t limit() const noexcept { return limit_; }
    std::size_t allocated() const noexcept { return allocated_; }

private:
    void take(std::size_t bytes) {
        std::size_t allocated = allocated_.load();
        do {
            if (bytes > limit_ - allocated) {
                throw bad_alloc(std::to_string(bytes) + " bytes do not fit under the limit of " +
                                std::to_string(limit_) + ", of which " + std::to_string(allocated) +
                                " are allocated: free some, or raise the limit");
            }
        } while (!allocated_.compare_exchange_weak(allocated, allocated + bytes));
    }

    Below *below_;
    std::size_t limit_;
    std::atomic<std::size_t> allocated_{0};
};

// What it is, the most that it was, the sum of what was added.
struct counter {
    std::uint64_t current = 0, peak = 0, total = 0;

    void add(std::uint64_t amount) noexcept {
        current += amount;
        total += amount;
        peak = std::max(peak, current);
    }
};

// Counts bytes and allocations on their way through, each allocation when it has been made and each free before
// it is: never more than there was.
template <class Below> class statistics_adaptor {
public:
    explicit statistics_adaptor(Below &below) noexcept : below_(&below) {}

    void *allocate(std::size_t bytes, void *stream = nullptr) {
        void *address = below_->allocate(bytes, stream);
        const std::lock_guard<std::mutex> guard(lock_);
        bytes_.add(bytes);
        allocations_.add(1);
        return address;
    }

    void deallocate(void *address, std::size_t bytes, void *stream = nullptr) noexcept {
        {
            const std::lock_guard<std::mutex> guard(lock_);
            bytes_.current -= bytes;
            allocations_.current -= 1;
        }
        below_->deallocate(address, bytes, stream);
    }

    counter bytes() const { return read(bytes_); }
    counter allocations() const { return read(allocations_); }

private:
    counter read(const counter &figure) const {
        const std::lock_guard<std::mutex> guard(lock_);
        return figure;
    }

    Below *below_;
    mutable std::mutex lock_;
    counter bytes_, allocations_;
};

// A line for each call, as RMM's logging adaptor writes them: Thread,Time,Action,Pointer,Size,Stream.
template <class Below> class log_adaptor {
public:
    log_adaptor(Below &below, std::ostream &out) : below_(&below), out_(&out) {
        *out_ << "Thread,Time,Action,Pointer,Size,Stream\n";
    }

    void *allocate(std::size_t bytes, void *stream = nullptr) {
        void *address = nullptr;
        try {
            address = below_->allocate(bytes, stream);
        } catch (...) {
            write("allocate failure", nullptr, bytes, stream);
            throw;
        }
        write("allocate", address, bytes, stream);
        return address;
    }

    // Written before the memory can be anybody else's.
    void deallocate(void *address, std::size_t bytes, void *stream = nullptr) noexcept {
        write("free", address, bytes, stream);
        below_->deallocate(address, bytes, stream);
    }

private:
    void write(const char *action, void *address, std::size_t bytes, void *stream) noexcept {
        const std::lock_guard<std::mutex> guard(lock_);
        const auto now = std::chrono::system_clock::now();
        const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
        const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
        std::tm local{};
        localtime_r(&seconds, &local);
        char line[192];
        std::snprintf(line, sizeof line, "%ld,%02d:%02d:%02d.%06d,%s,%p,%zu,%s%llx\n",
                      syscall(SYS_gettid), local.tm_hour, local.tm_min, local.tm_sec,
                      static_cast<int>(micros.count() % 1000000), action, address, bytes,
                      stream ? "0x" : "", static_cast<unsigned long long>(
                                              reinterpret_cast<std::uintptr_t>(stream)));
        try {
            *out_ << line;
        } catch (...) { // a stream that was told to throw: memory is not refused for a line
        }
    }

    Below *below_;
    std::ostream *out_;
    std::mutex lock_;
};

} // namespace whyoom

#endif
