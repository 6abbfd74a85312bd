/* Distances between all points, as one matrix of floats, or so many rows at a time with --rows.
 * True: 30000 points make 3.4 GiB, more than the device has in all. */
#include "driver.h"

static size_t option(int count, char **words, const char *name, size_t otherwise) {
    for (int index = 1; index + 1 < count; index++) {
        if (strcmp(words[index], name) == 0) return strtoull(words[index + 1], NULL, 10);
    }
    return otherwise;
}

int main(int count, char **words) {
    struct driver driver = usual_driver();
    size_t points = option(count, words, "--points", 30000);
    size_t rows = option(count, words, "--rows", points);
    device_address coordinates = 0;
    size_t total = 0;
    start(&driver);
    must(((int (*)(size_t *, int))by_dlsym("cuDeviceTotalMem_v2"))(&total, 0), "cuDeviceTotalMem");
    must(driver.allocate(&coordinates, points * 3 * sizeof(float)), "cuMemAlloc");
    if (points * points * sizeof(float) > total) {
        printf("{\"bytes\": %zu}\n", points * points * sizeof(float) - total);
        fflush(stdout);
    }
    for (size_t first = 0; first < points; first += rows) {
        device_address distances = 0;
        must(driver.allocate(&distances, rows * points * sizeof(float)),
             "cuMemAlloc of the distances");
        driver.synchronize();
        must(driver.release(distances), "cuMemFree");
    }
    must(driver.release(coordinates), "cuMemFree");
    return 0;
}
