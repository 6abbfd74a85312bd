/* A histogram with one thread for each of 2048 bins, then room for its result. The launch's code is
 * kept, as the runtime keeps it, and looked at behind the allocation. True: no block has 2048 threads,
 * so nothing ran; memory is healthy. */
#include "driver.h"

#define BINS 1024 * 2

static const char HISTOGRAM[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry count_bins(.param .u64 bins)\n{\n    ret;\n}\n";

int main(void) {
    struct driver driver = usual_driver();
    int (*load)(void **, const void *) = by_dlsym("cuModuleLoadData");
    int (*find)(void **, void *, const char *) = by_dlsym("cuModuleGetFunction");
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                  void **, void **) = by_dlsym("cuLaunchKernel");
    start(&driver);

    void *module = NULL, *kernel = NULL;
    device_address bins = 0, result = 0;
    void *parameters[] = {&bins};
    must(load(&module, HISTOGRAM), "cuModuleLoadData");
    must(find(&kernel, module, "count_bins"), "cuModuleGetFunction");
    must(driver.allocate(&bins, BINS * sizeof(int)), "cuMemAlloc");
    int last_error = launch(kernel, 1, 1, 1, BINS, 1, 1, 0, NULL, parameters, NULL);
    driver.allocate(&result, 64 * MIB);
    if (last_error) {
        fprintf(stderr, "allocating the result failed: error %d\n", last_error);
        return 1;
    }
    return 0;
}
