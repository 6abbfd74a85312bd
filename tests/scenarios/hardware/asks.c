/*
 * Allocates 64 MiB again and again until it is refused, and prints how many it got: `asks dlsym` finds the driver's
 * function by its name, `asks proc` through cuGetProcAddress.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BLOCK ((size_t)64 << 20)
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        int answer = (call);                                                                                           \
        if (answer != 0) {                                                                                             \
            printf("%s: %d\n", #call, answer);                                                                         \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

int main(int count, char **words) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver || count != 2)
        return 1;
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
    int (*set)(void *) = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
    int (*find)(const char *, void **, int, uint64_t, void *) =
        (int (*)(const char *, void **, int, uint64_t, void *))dlsym(driver, "cuGetProcAddress_v2");
    void *alloc = dlsym(driver, "cuMemAlloc_v2"), *context;
    CHECK(init(0));
    if (strcmp(words[1], "proc") == 0)
        CHECK(find("cuMemAlloc", &alloc, 12000, 0, NULL));
    CHECK(retain(&context, 0));
    CHECK(set(context));
    int blocks = 0, answer;
    uint64_t address;
    while ((answer = ((int (*)(uint64_t *, size_t))alloc)(&address, BLOCK)) == 0)
        blocks++;
    printf("{\"blocks\": %d, \"refused\": %d}\n", blocks, answer);
    return 0;
}
