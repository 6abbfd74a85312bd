/* Sums blocks in shared memory, as much of it as the largest block needs, and fetches the result.
 * Nothing looks at what the launch answered. True: no device has 1 MiB of shared memory for a
 * block; the kernel never ran. Device memory is healthy. */
#include "driver.h"

#define SHARED (1u << 20)

static const char *const CODE =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry block_sums(.param .u64 values) { ret; }\n";

typedef int (*load)(void **module, const void *image);
typedef int (*find)(void **function, void *module, const char *name);
typedef int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void *, void **, void **);

int main(void) {
    struct driver driver = usual_driver();
    void *module = NULL, *kernel = NULL;
    device_address values = 0;
    void *parameters[] = {&values};
    start(&driver);
    must(((load)by_dlsym("cuModuleLoadData"))(&module, CODE), "cuModuleLoadData");
    must(((find)by_dlsym("cuModuleGetFunction"))(&kernel, module, "block_sums"),
         "cuModuleGetFunction");
    must(driver.allocate(&values, 64 * MIB), "cuMemAlloc");
    ((launch)by_dlsym("cuLaunchKernel"))
        (kernel, 64, 1, 1, 256, 1, 1, SHARED, NULL, parameters, NULL);
    driver.synchronize();
    must(driver.release(values), "cuMemFree");
    puts("sum 0.000000");
    return 0;
}
