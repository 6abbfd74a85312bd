/* Each thread of a kernel builds its branch of an octree with malloc inside the kernel.
 * True: the heap for that is 8 MiB and full; the device itself is nearly empty. The simulated device
 * computes nothing, so it is told to let this kernel find the heap full. */
#include "driver.h"

#define POINTS (256 * MIB)

static const char OCTREE[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b64 address) malloc (.param .b64 size);\n"
    ".visible .entry build_octree(.param .u64 points)\n{\n    ret;\n}\n";

int main(void) {
    struct driver driver = usual_driver();
    int (*load)(void **, const void *) = by_dlsym("cuModuleLoadData");
    int (*find)(void **, void *, const char *) = by_dlsym("cuModuleGetFunction");
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                  void **, void **) = by_dlsym("cuLaunchKernel");
    start(&driver);

    void *module = NULL, *kernel = NULL;
    device_address points = 0, more = 0;
    void *parameters[] = {&points};
    must(load(&module, OCTREE), "cuModuleLoadData");
    must(find(&kernel, module, "build_octree"), "cuModuleGetFunction");
    must(driver.allocate(&points, POINTS), "cuMemAlloc");
    must(launch(kernel, 128, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL), "cuLaunchKernel");
    driver.synchronize();
    must(driver.allocate(&more, MIB), "cuMemAlloc of 1 MiB");
    return 0;
}
