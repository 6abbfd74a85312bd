/* Calls the driver until its input ends, whatever it answers, and touches what it gets.
 *
 *     caller
 *
 * It says "started" when it has a context, and at the end how many calls it made, how many of them were
 * refused, and how long the longest took: {"calls":N,"refused":N,"longest_ms":X}
 *
 * The driver's documented functions are found at run time, so that no vendor's header is needed. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SIZE ((size_t)4 << 20)
#define WRITTEN ((size_t)64 << 10)
#define FILE_DESCRIPTOR 1

struct location {
    int type, id;
};
struct properties {
    int type, handle_types;
    struct location location;
    void *windows;
    unsigned char flags[8];
};
struct access {
    struct location location;
    int flags;
};

static long calls, refused;
static double longest;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void *function(const char *name) {
    static void *driver;
    if (!driver) driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = driver ? dlsym(driver, name) : NULL;
    if (!found) {
        fprintf(stderr, "caller: %s\n", dlerror());
        exit(1);
    }
    return found;
}

static double began;

/* Counts a call; true where it succeeded. */
static int done(int code) {
    double took = now() - began;
    if (took > longest) longest = took;
    calls++;
    refused += code != 0;
    return code == 0;
}
#define CALL(call) (began = now(), done(call))

static int (*mem_info)(size_t *, size_t *);
static int (*mem_alloc)(uint64_t *, size_t);
static int (*mem_free)(uint64_t);
static int (*mem_set)(uint64_t, unsigned char, size_t);
static int (*synchronize)(void);
static int (*create)(uint64_t *, size_t, const struct properties *, uint64_t);
static int (*release)(uint64_t);
static int (*export)(void *, uint64_t, int, uint64_t);
static int (*import)(uint64_t *, void *, int);
static int (*reserve)(uint64_t *, size_t, size_t, uint64_t, uint64_t);
static int (*unreserve)(uint64_t, size_t);
static int (*map)(uint64_t, size_t, size_t, uint64_t, uint64_t);
static int (*unmap)(uint64_t, size_t);
static int (*set_access)(uint64_t, size_t, const struct access *, size_t);

static void find_functions(void) {
    mem_info = function("cuMemGetInfo_v2");
    mem_alloc = function("cuMemAlloc_v2");
    mem_free = function("cuMemFree_v2");
    mem_set = function("cuMemsetD8_v2");
    synchronize = function("cuCtxSynchronize");
    create = function("cuMemCreate");
    release = function("cuMemRelease");
    export = function("cuMemExportToShareableHandle");
    import = function("cuMemImportFromShareableHandle");
    reserve = function("cuMemAddressReserve");
    unreserve = function("cuMemAddressFree");
    map = function("cuMemMap");
    unmap = function("cuMemUnmap");
    set_access = function("cuMemSetAccess");
}

static void plain(void) {
    size_t free_bytes, total;
    uint64_t address = 0;
    CALL(mem_info(&free_bytes, &total));
    if (CALL(mem_alloc(&address, SIZE))) {
        CALL(mem_set(address, 7, WRITTEN));
        CALL(mem_free(address));
    }
    CALL(synchronize());
}

/* Maps a handle and writes its end: where the file behind it is shorter, this crashes. */
static void touch(uint64_t handle) {
    uint64_t address = 0;
    struct access access = {{1, 0}, 3};
    if (!CALL(reserve(&address, SIZE, 0, 0, 0))) return;
    if (CALL(map(address, SIZE, 0, handle, 0))) {
        if (CALL(set_access(address, SIZE, &access, 1)))
            CALL(mem_set(address + SIZE - WRITTEN, 7, WRITTEN));
        CALL(unmap(address, SIZE));
    }
    CALL(unreserve(address, SIZE));
}

static void between_processes(void) {
    struct properties properties = {1, FILE_DESCRIPTOR, {1, 0}, NULL, {0}};
    uint64_t own = 0, imported = 0;
    int descriptor = -1;
    if (!CALL(create(&own, SIZE, &properties, 0))) return;
    if (CALL(export(&descriptor, own, FILE_DESCRIPTOR, 0))) {
        if (CALL(import(&imported, (void *)(intptr_t)descriptor, FILE_DESCRIPTOR))) {
            touch(imported);
            CALL(release(imported));
        }
        close(descriptor);
    }
    CALL(release(own));
}

static int input_goes_on(void) {
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) == 0;
}

int main(void) {
    int (*init)(unsigned) = function("cuInit");
    int (*retain)(void **, int) = function("cuDevicePrimaryCtxRetain");
    int (*set_current)(void *) = function("cuCtxSetCurrent");
    void *context = NULL;
    find_functions();
    int code = init(0);
    if (!code) code = retain(&context, 0);
    if (!code) code = set_current(context);
    if (code) {
        fprintf(stderr, "caller: no context: %d\n", code);
        return 1;
    }
    printf("started\n");
    fflush(stdout);
    while (input_goes_on()) {
        plain();
        between_processes();
    }
    printf("{\"calls\":%ld,\"refused\":%ld,\"longest_ms\":%.3f}\n", calls, refused, longest * 1e3);
    return 0;
}
