/*
 * whyoom_pool.h: GPU memory from whyoom's pool, for C and C++ programs.
 *
 *     void *block;
 *     if (whyoom_pool_alloc(device, bytes, stream, &block) != WHYOOM_POOL_OK)
 *         puts(whyoom_pool_message());
 *     kernel<<<grid, threads, 0, stream>>>(block);
 *     whyoom_pool_free(block, stream);          // at once; the host does not wait
 *
 * Link with -lwhyoom_pool. C99; no header of CUDA's is needed: a stream is a `void *` and takes a
 * cudaStream_t or CUstream as it is, a device is the number that cudaGetDevice gives. Blocks lie in the
 * device's primary context, which the runtime uses too. For C++ there is whyoom_pool.hpp.
 *
 * Streams. Memory is ordered by its stream, as with cudaMallocAsync: a block may be used by work that is
 *     put on its stream after the allocation, and is freed at the point of the stream where the free
 *     stands. The same stream gets it again at once; another stream gets it behind an event, on the GPU.
 *     Work on any other stream must be told: whyoom_pool_use. NULL is the legacy default stream.
 *     cudaStreamPerThread, which names another stream in each thread, is refused: give the stream itself.
 * Threads. Every function may be called by every thread at any time. Two streams share no lock unless
 *     memory has to come from the device or from the other stream. Up to 1,024 streams are told apart.
 * Waiting. The host waits for the GPU in whyoom_pool_trim, and in an allocation that would otherwise
 *     fail (counted in `waits`), and nowhere else; in debug mode also at each free.
 * Captures. Call whyoom_pool_begin before a capture in which memory is allocated: it then comes from a
 *     private pool, whose addresses stay the graph's own until whyoom_pool_release. Without it the graph
 *     would go on using blocks that others have got since; the pool, which asks the driver nothing on its
 *     hot path, cannot tell.
 * Fork. In a child process allocations answer WHYOOM_POOL_NOT_INITIALIZED and frees do nothing, as CUDA
 *     itself does not work there.
 * Processes. Blocks are the process's own: cudaIpcGetMemHandle takes none of them.
 * Process end. Nothing has to be called: the driver takes everything back.
 */
#ifndef WHYOOM_POOL_H
#define WHYOOM_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions that return `int` answer: one of these, or another code of the driver (CUresult). After
 * anything but 0, whyoom_pool_message() says what happened and what to do. */
enum {
    WHYOOM_POOL_OK = 0,
    WHYOOM_POOL_INVALID_VALUE = 1,    /* an address that is no live block of the pool; cudaStreamPerThread */
    WHYOOM_POOL_OUT_OF_MEMORY = 2,    /* neither the pool nor the device has so much, or the cap forbids it */
    WHYOOM_POOL_NOT_INITIALIZED = 3,  /* this is a child made by fork */
    WHYOOM_POOL_INVALID_DEVICE = 101, /* no driver, or no such device */
    WHYOOM_POOL_NOT_SUPPORTED = 801   /* the device has no virtual memory management: allocate without the pool */
};

/* One device's pool, in bytes unless it says otherwise. Figures that change together are read one after
 * the other: while other threads allocate, sums may be off by what they do meanwhile. */
typedef struct {
    uint32_t size;   /* of this structure: set by the caller, so that it may grow; no more is written */
    uint32_t device;

    uint64_t allocated, peak_allocated; /* in live blocks, each rounded up to 512 */
    uint64_t requested;                 /* what was asked for in them */
    uint64_t reserved, peak_reserved;   /* physical memory taken from the driver, each page once */
    uint64_t blocks, peak_blocks;       /* live blocks: a number */
    uint64_t allocations, frees;        /* so far: numbers */
    uint64_t pending;                   /* freed, but other streams still use it; not in `allocated` */
    uint64_t spare;                     /* in pages that are mapped nowhere; part of `reserved` */
    uint64_t failures, retries;         /* requests refused; requests that first failed, then found memory */

    uint64_t driver_calls;              /* of all kinds so far; the next ones are parts of it */
    uint64_t creates, releases, maps, unmaps, access, reserves, events;
    uint64_t waits;                     /* times that the host waited for the GPU */
    uint64_t damaged;                   /* debug mode: broken guards, double frees, foreign pointers */
    uint64_t cap, device_total;         /* the cap (0: none); the device's memory */

    /* By kind of request: [0] small, up to 1 MiB, [1] large. */
    uint64_t class_allocated[2], class_blocks[2];
    uint64_t class_allocations[2], class_frees[2];              /* so far: numbers */
    uint64_t class_allocated_bytes[2], class_freed_bytes[2];    /* so far */
    uint64_t class_reserved[2];                                 /* mapped for them */
} whyoom_pool_statistics;

enum {
    WHYOOM_POOL_INACTIVE = 0,  /* free, with memory behind it */
    WHYOOM_POOL_ALLOCATED = 1,
    WHYOOM_POOL_PENDING = 2    /* freed, but other streams still use it */
};

typedef struct {
    uint64_t address, size;
    uint64_t requested; /* 0 where it is free */
    uint64_t stream;    /* the handle */
    uint64_t pool;      /* 0: common; else the private pool's number */
    uint32_t state;     /* WHYOOM_POOL_INACTIVE ... */
    uint32_t small;     /* 1: for requests up to 1 MiB */
} whyoom_pool_block;

/* ---- Memory ---- */

/* The version of this interface: WHYOOM_POOL_VERSION where header and library are of one kind. */
#define WHYOOM_POOL_VERSION 1u
uint32_t whyoom_pool_version(void);

/* A block of at least `bytes`, aligned to 512, for work on `stream` from here on. 0 bytes are NULL. Where it
 * fails *address is NULL and nothing has changed. Idle memory of other streams is used before any is
 * refused. */
int whyoom_pool_alloc(int device, size_t bytes, void *stream, void **address);

/* Gives a block back: the work that uses it stands before this point of `stream`. It may be another stream
 * than the block's own; then the block waits for an event there. NULL is nothing. */
int whyoom_pool_free(void *address, void *stream);

/* `stream` uses the block too (torch's record_stream): call it behind the work's launch and before the free.
 * The block, once freed, waits for what this stream has in hand at that time. */
int whyoom_pool_use(void *address, void *stream);

/* Call before a stream is destroyed. What is free there goes to the other streams, what is live stays usable
 * and can be freed with any stream that is alive. */
int whyoom_pool_stream_gone(void *stream);

/* ---- Limits and figures ---- */

/* Why the pool cannot serve the devices that this process sees; NULL where it can, or where there is none. Where
 * copies between devices are not handed over by whyoom's recorder (`hooked` is 0), all of them must reach each other's
 * memory. Starts the driver. */
const char *whyoom_pool_obstacle(int hooked);

/* Gives idle pages back to the device until no more than `keep_bytes` are reserved, or none is idle. Waits for
 * the work that used them. */
int whyoom_pool_trim(int device, size_t keep_bytes);

/* At most so much is reserved from now on; 0: no cap. What is reserved already is not taken away. */
int whyoom_pool_set_cap(int device, size_t bytes);

/* Set out->size = sizeof *out first. A device that the pool has not touched reads as zeros. */
int whyoom_pool_read_statistics(int device, whyoom_pool_statistics *out);
int whyoom_pool_reset_peaks(int device);  /* the peaks start from what is now */
int whyoom_pool_reset_totals(int device); /* what counts "so far" starts from 0 */

/* How many blocks there are; writes the first `room` of them, in no order. Takes every lane's lock in turn: for
 * people and tools, not for the hot path. */
size_t whyoom_pool_blocks(int device, whyoom_pool_block *out, size_t room);

/* What the calling thread's last failure was, in words; "" before there was one. Valid until this thread's next
 * call. */
const char *whyoom_pool_message(void);

/* Call before cudaDeviceReset: everything on the device is given up, live blocks too. Their addresses are no
 * blocks of the pool from then on; the next allocation starts afresh. */
int whyoom_pool_forget(int device);

/* ---- Graph captures ---- */

/* Call it before cudaStreamBeginCapture. From here to the matching whyoom_pool_end, memory for streams that are
 * being captured comes from the private pool of that name (any two numbers but 0, 0; several captures may name
 * the same one). Its memory comes from the device alone, and stays until whyoom_pool_release: a graph may use it
 * at each of its launches. */
int whyoom_pool_begin(int device, uint64_t pool_high, uint64_t pool_low);
int whyoom_pool_end(int device, uint64_t pool_high, uint64_t pool_low);

/* One user fewer (each whyoom_pool_begin is one). After the last, what is idle serves everybody: no graph that
 * was captured into the pool may be launched any more. */
int whyoom_pool_release(int device, uint64_t pool_high, uint64_t pool_low);

/* What the user of a private pool called it, by the number in whyoom_pool_block.pool. 1 where there is no such
 * pool any more. */
int whyoom_pool_private_name(int device, uint64_t pool, uint64_t *high, uint64_t *low);

/* ---- torch.cuda.memory.CUDAPluggableAllocator ----
 * `whyoom.pool` in Python registers these; other programs have no use for them. whyoom_torch_alloc throws
 * c10::OutOfMemoryError where torch's library is there, and returns NULL elsewhere. `filter` is a
 * std::function<bool(cudaStream_t)> that torch passes by reference; a pool's name comes in two halves. */
void *whyoom_torch_alloc(ssize_t bytes, int device, void *stream);
void whyoom_torch_free(void *address, ssize_t bytes, int device, void *stream);
void whyoom_torch_record_stream(void *address, void *stream);
void whyoom_torch_begin(int device, uint64_t high, uint64_t low, void *filter);
void whyoom_torch_end(int device, uint64_t high, uint64_t low);
void whyoom_torch_release(int device, uint64_t high, uint64_t low);
void whyoom_torch_fraction(double fraction, int device);
void *whyoom_torch_base(void *address, size_t *size);
void whyoom_torch_init(int devices);
void whyoom_torch_reset(void);

/* ---- whyoom's recorder, in preload mode ----
 * As the driver's functions of those names, for the device whose context is current. Where a call is not the
 * pool's (it does not serve, the address is foreign, the stream is captured or cudaStreamPerThread) they answer
 * WHYOOM_POOL_NOT_MINE, and the caller asks the driver. */
enum { WHYOOM_POOL_NOT_MINE = -1 };
int whyoom_pool_serving(void); /* 1 while driver allocations are to be served from the pool */
void whyoom_pool_serve(int on);
int whyoom_pool_mem_alloc(uint64_t *address, size_t bytes);
int whyoom_pool_mem_free(uint64_t address);
int whyoom_pool_mem_alloc_async(uint64_t *address, size_t bytes, void *stream);
int whyoom_pool_mem_free_async(uint64_t address, void *stream);
int whyoom_pool_copy(uint64_t target, uint64_t source, size_t bytes, void *stream);
uint64_t whyoom_pool_idle(void); /* bytes of the current device that lie idle in the pool while it serves */

#ifdef __cplusplus
}
#endif

#endif
