/* The same work, with the driver reached in each way that programs have:
 *
 *     ways dlsym|dlvsym|default|proc|proc_v2|nested
 *     linked                          (built with -DLINKED and -lcuda)
 *
 * Prints what it kept. The file that WHYOOM_HOMES names gets, for each function, the library that its
 * address lies in: who wraps a function gives out an address of its own. */
#include "driver.h"

#define BLOCKS 24

static void *by_dlvsym(const char *name) { return dlvsym(library(), name, "libcuda.so.1"); }

/* The search that libraries make which expect the driver to be loaded already. */
static void *by_default(const char *name) {
    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) stop(dlerror());
    return dlsym(RTLD_DEFAULT, name);
}

typedef int (*proc)(const char *, void **, int, unsigned long long);
typedef int (*proc_v2)(const char *, void **, int, unsigned long long, int *);

static void *by_proc(const char *name) {
    proc ask = (proc)dlsym(library(), "cuGetProcAddress");
    void *found = NULL;
    if (!ask) stop("no cuGetProcAddress");
    must(ask(name, &found, CUDA_VERSION_ASKED, 0), name);
    return found;
}

static void *asked(proc_v2 ask, const char *name) {
    void *found = NULL;
    int status = 0;
    must(ask(name, &found, CUDA_VERSION_ASKED, 0, &status), name);
    if (status != 0) stop(name);
    return found;
}

static proc_v2 first_proc(void) {
    proc_v2 ask = (proc_v2)dlsym(library(), "cuGetProcAddress_v2");
    if (!ask) stop("no cuGetProcAddress_v2");
    return ask;
}

static void *by_proc_v2(const char *name) { return asked(first_proc(), name); }

/* As the vendor's runtime does: the function that looks up is itself looked up, twice over. */
static void *by_nested(const char *name) {
    proc_v2 second = (proc_v2)asked(first_proc(), "cuGetProcAddress");
    proc_v2 third = (proc_v2)asked(second, "cuGetProcAddress");
    return asked(third, name);
}

#ifdef LINKED
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *);
int cuMemAlloc_v2(device_address *, size_t);
int cuMemFree_v2(device_address);
int cuMemAllocAsync(device_address *, size_t, void *);
int cuMemFreeAsync(device_address, void *);
int cuCtxSynchronize(void);

static struct driver linked(void) {
    struct driver driver = {cuInit,        cuDevicePrimaryCtxRetain, cuCtxSetCurrent, cuMemAlloc_v2,
                            cuMemFree_v2,  cuMemAllocAsync,          cuMemFreeAsync,  cuCtxSynchronize};
    return driver;
}
#endif

static struct driver reached(const char *way) {
    static const struct {
        const char *way;
        finder find;
        int plain_names;
    } ways[] = {
        {"dlsym", by_dlsym, 0}, {"dlvsym", by_dlvsym, 0},   {"default", by_default, 0},
        {"proc", by_proc, 1},   {"proc_v2", by_proc_v2, 1}, {"nested", by_nested, 1},
    };
#ifdef LINKED
    if (strcmp(way, "linked") == 0) return linked();
#endif
    for (size_t index = 0; index < sizeof ways / sizeof ways[0]; index++) {
        if (strcmp(way, ways[index].way) == 0) {
            return found_by(ways[index].find, ways[index].plain_names);
        }
    }
    stop("no such way");
    exit(3);
}

static void tell_homes(const struct driver *driver) {
    void *const *functions = (void *const *)driver;
    const char *path = getenv("WHYOOM_HOMES");
    FILE *homes = path ? fopen(path, "w") : NULL;
    if (!homes) return;
    for (int index = 0; index < FUNCTIONS; index++) {
        Dl_info home;
        const char *file = dladdr(functions[index], &home) ? home.dli_fname : "nowhere";
        fprintf(homes, "%s %s\n", NAMES[index].exported, file);
    }
    fclose(homes);
}

int main(int count, char **words) {
    const char *way = count > 1 ? words[1] : "linked";
    struct driver driver = reached(way);
    start(&driver);
    size_t kept = take_some(&driver, BLOCKS);
    device_address address = 0;
    must(driver.allocate_async(&address, MIB, NULL), "cuMemAllocAsync");
    must(driver.release_async(address, NULL), "cuMemFreeAsync");
    must(driver.synchronize(), "cuCtxSynchronize");
    printf("{\"way\":\"%s\",\"kept\":%zu}\n", way, kept);
    fflush(stdout);
    tell_homes(&driver);
    return 0;
}
