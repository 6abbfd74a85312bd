/* Counts what is taken from the program's heap while the driver is called, and by whom.
 *
 *     heap CALLS
 *
 * This program's own malloc is what every library in the process uses. Each thread's first calls are
 * not counted: interning its first stack may take memory once. */
#include "driver.h"

#include <stdatomic.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

#define WARM_UP 2000
/* Callers, by the address that asked; far more than there are. */
#define SITES 4096

static atomic_int counting;
static atomic_ulong taken;
static void *_Atomic sites[SITES];

static void note(void *caller) {
    if (!atomic_load_explicit(&counting, memory_order_relaxed)) return;
    unsigned long index = atomic_fetch_add(&taken, 1);
    if (index < SITES) sites[index] = caller;
}

void *malloc(size_t size) {
    note(__builtin_return_address(0));
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    note(__builtin_return_address(0));
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    note(__builtin_return_address(0));
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
    note(__builtin_return_address(0));
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    note(__builtin_return_address(0));
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **place, size_t alignment, size_t size) {
    note(__builtin_return_address(0));
    *place = __libc_memalign(alignment, size);
    return *place ? 0 : 12;
}

static void pairs(const struct driver *driver, int calls) {
    for (int index = 0; index < calls / 2; index++) {
        device_address address = 0;
        must(driver->allocate_async(&address, 4096, NULL), "cuMemAllocAsync");
        must(driver->release_async(address, NULL), "cuMemFreeAsync");
    }
}

/* How many of the first requests came out of the recorder's own code. */
static unsigned long by_recorder(void) {
    unsigned long own = 0;
    for (unsigned long index = 0; index < SITES && index < taken; index++) {
        Dl_info home;
        if (dladdr(sites[index], &home) && strstr(home.dli_fname, "whyoom_recorder")) own++;
    }
    return own;
}

int main(int count, char **words) {
    int calls = count > 1 ? atoi(words[1]) : 100000;
    struct driver driver = usual_driver();
    start(&driver);
    device_address kept = 0;
    must(driver.allocate_async(&kept, 4096, NULL), "cuMemAllocAsync");
    pairs(&driver, WARM_UP);
    atomic_store(&counting, 1);
    pairs(&driver, calls);
    atomic_store(&counting, 0);
    printf("{\"calls\":%d,\"taken\":%lu,\"by_recorder\":%lu}\n", calls, taken, by_recorder());
    return 0;
}
