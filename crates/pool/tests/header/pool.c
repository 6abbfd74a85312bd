/* The pool from C, by nothing but its header: exit status 0 where everything holds, 3 where there is no GPU. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "whyoom_pool.h"

#define MIB ((size_t)1 << 20)
#define HOLDS(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            printf("line %d: not so: %s (%s)\n", __LINE__, #condition, whyoom_pool_message());        \
            return 1;                                                                                 \
        }                                                                                             \
    } while (0)

/* Every function of the header must be in the library: the linker looks for what stands here. */
typedef void (*any_function)(void);
static const any_function everything[] = {
    (any_function)whyoom_torch_alloc,        (any_function)whyoom_torch_free,
    (any_function)whyoom_torch_record_stream, (any_function)whyoom_torch_begin,
    (any_function)whyoom_torch_end,          (any_function)whyoom_torch_release,
    (any_function)whyoom_torch_fraction,     (any_function)whyoom_torch_base,
    (any_function)whyoom_torch_init,         (any_function)whyoom_torch_reset,
    (any_function)whyoom_pool_serving,       (any_function)whyoom_pool_serve,
    (any_function)whyoom_pool_mem_alloc,     (any_function)whyoom_pool_mem_free,
    (any_function)whyoom_pool_mem_alloc_async, (any_function)whyoom_pool_mem_free_async,
    (any_function)whyoom_pool_stream_gone,   (any_function)whyoom_pool_use,
};

static whyoom_pool_statistics figures(void) {
    whyoom_pool_statistics now;
    memset(&now, 0, sizeof now);
    now.size = sizeof now;
    (void)whyoom_pool_read_statistics(0, &now);
    return now;
}

/* Of the driver no more than it takes to have a second stream. */
static void *make_stream(void) {
    int (*retain)(void **, int), (*set_current)(void *), (*create)(void **, unsigned);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL, *stream = NULL;
    if (driver == NULL) {
        return NULL;
    }
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    *(void **)&set_current = dlsym(driver, "cuCtxSetCurrent");
    *(void **)&create = dlsym(driver, "cuStreamCreate");
    if (retain(&context, 0) != 0 || set_current(context) != 0 || create(&stream, 1) != 0) {
        return NULL;
    }
    return stream;
}

static int memory(void) {
    void *a = NULL, *b = NULL, *none = &a, *nothing = &a;
    HOLDS(whyoom_pool_alloc(0, 3 * MIB + 1, NULL, &a) == 0 && a != NULL);
    HOLDS((uintptr_t)a % 512 == 0);
    HOLDS(whyoom_pool_alloc(0, 100, NULL, &b) == 0 && b != a);
    HOLDS(whyoom_pool_alloc(0, 0, NULL, &nothing) == 0 && nothing == NULL);
    HOLDS(figures().blocks == 2 && figures().requested == 3 * MIB + 101);
    HOLDS(figures().allocated == 3 * MIB + 1024 && figures().reserved >= figures().allocated);
    HOLDS(figures().class_blocks[0] == 1 && figures().class_blocks[1] == 1);

    HOLDS(whyoom_pool_alloc(0, (size_t)1 << 50, NULL, &none) == WHYOOM_POOL_OUT_OF_MEMORY);
    HOLDS(none == NULL && strlen(whyoom_pool_message()) > 10 && figures().failures == 1);
    HOLDS(whyoom_pool_alloc(1000, 100, NULL, &none) == WHYOOM_POOL_INVALID_DEVICE);
    HOLDS(whyoom_pool_free(&none, NULL) == WHYOOM_POOL_INVALID_VALUE);
    HOLDS(whyoom_pool_free(NULL, NULL) == 0);

    HOLDS(whyoom_pool_free(a, NULL) == 0 && whyoom_pool_free(b, NULL) == 0);
    void *again = NULL;
    uint64_t calls = figures().driver_calls;
    HOLDS(whyoom_pool_alloc(0, 3 * MIB + 1, NULL, &again) == 0 && again == a);
    HOLDS(figures().driver_calls == calls);
    HOLDS(whyoom_pool_free(again, NULL) == 0 && figures().blocks == 0 && figures().allocated == 0);
    return 0;
}

static int streams(void) {
    void *stream = make_stream(), *block = NULL;
    HOLDS(stream != NULL);
    HOLDS(whyoom_pool_alloc(0, 5 * MIB, stream, &block) == 0);
    HOLDS(whyoom_pool_use(block, NULL) == 0);
    HOLDS(whyoom_pool_use(&block, NULL) == WHYOOM_POOL_INVALID_VALUE);
    HOLDS(whyoom_pool_free(block, stream) == 0);
    HOLDS(whyoom_pool_stream_gone(stream) == 0);
    return 0;
}

static int limits(void) {
    void *block = NULL;
    whyoom_pool_block one;
    HOLDS(whyoom_pool_trim(0, 0) == 0 && figures().reserved == 0);
    HOLDS(whyoom_pool_set_cap(0, 8 * MIB) == 0 && figures().cap == 8 * MIB);
    HOLDS(whyoom_pool_alloc(0, 9 * MIB, NULL, &block) == WHYOOM_POOL_OUT_OF_MEMORY);
    HOLDS(whyoom_pool_set_cap(0, 0) == 0);
    HOLDS(whyoom_pool_alloc(0, 9 * MIB, NULL, &block) == 0);
    HOLDS(whyoom_pool_blocks(0, NULL, 0) >= 1 && whyoom_pool_blocks(0, &one, 1) >= 1);
    HOLDS(whyoom_pool_reset_peaks(0) == 0 && figures().peak_allocated == 9 * MIB);
    HOLDS(whyoom_pool_reset_totals(0) == 0 && figures().allocations == 0);
    HOLDS(whyoom_pool_free(block, NULL) == 0);
    return 0;
}

static int pools(void) {
    void *block = NULL;
    HOLDS(whyoom_pool_begin(0, 7, 1) == 0 && whyoom_pool_end(0, 7, 1) == 0);
    HOLDS(whyoom_pool_release(0, 7, 1) == 0);
    HOLDS(whyoom_pool_alloc(0, MIB, NULL, &block) == 0 && whyoom_pool_forget(0) == 0);
    HOLDS(whyoom_pool_free(block, NULL) == WHYOOM_POOL_INVALID_VALUE);
    return 0;
}

static int child(void) {
    void *block = NULL;
    HOLDS(whyoom_pool_alloc(0, MIB, NULL, &block) == WHYOOM_POOL_NOT_INITIALIZED && block == NULL);
    HOLDS(strlen(whyoom_pool_message()) > 10);
    return 0;
}

static int after_fork(void) {
    int status = 1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int failed = child();
        fflush(stdout);
        _exit(failed);
    }
    HOLDS(waitpid(pid, &status, 0) == pid && status == 0);
    return 0;
}

int main(void) {
    void *block = NULL;
    HOLDS(whyoom_pool_version() == WHYOOM_POOL_VERSION && everything[0] != NULL);
    HOLDS(strcmp(whyoom_pool_message(), "") == 0);
    if (whyoom_pool_alloc(0, 100, NULL, &block) == WHYOOM_POOL_INVALID_DEVICE) {
        HOLDS(block == NULL && strlen(whyoom_pool_message()) > 10);
        printf("no GPU: %s\n", whyoom_pool_message());
        return 3;
    }
    HOLDS(block != NULL && whyoom_pool_free(block, NULL) == 0);
    if (memory() || streams() || limits() || pools() || after_fork()) {
        return 1;
    }
    puts("holds");
    return 0;
}
