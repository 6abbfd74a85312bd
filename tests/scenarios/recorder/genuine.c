/* The vendor's own runtime, which is given by its path, up to its refusal: it looks up what it needs
 * of the driver, finds that this driver is not the vendor's, and says so. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **words) {
    void *runtime = dlopen(count > 1 ? words[1] : "libcudart.so.13", RTLD_NOW);
    if (!runtime) {
        fprintf(stderr, "stopped: %s\n", dlerror());
        return 3;
    }
    int (*allocate)(void **, size_t) = (int (*)(void **, size_t))dlsym(runtime, "cudaMalloc");
    int (*devices)(int *) = (int (*)(int *))dlsym(runtime, "cudaGetDeviceCount");
    void *address = NULL;
    int number = 0;
    int counted = devices(&number), allocated = allocate(&address, 1 << 20);
    printf("{\"cudaGetDeviceCount\":%d,\"cudaMalloc\":%d}\n", counted, allocated);
    return 0;
}
