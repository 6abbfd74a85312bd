/* A lattice fluid: nineteen populations for every cell, twice, all needed at once. --cells is the
 * length of the box's side. True: each field is small, together they exceed the device. */
#include "driver.h"

#define FIELDS 38

int main(int count, char **words) {
    struct driver driver = usual_driver();
    size_t side = count > 2 && strcmp(words[1], "--cells") == 0
                ? strtoull(words[2], NULL, 10) : 256;
    size_t field = side * side * side * sizeof(float);
    device_address fields[FIELDS];
    start(&driver);
    for (int index = 0; index < FIELDS; index++) {
        size_t free_now = 0, total = 0;
        must(((int (*)(size_t *, size_t *))by_dlsym("cuMemGetInfo_v2"))(&free_now, &total),
             "cuMemGetInfo");
        if (free_now < field) {
            printf("{\"bytes\": %zu}\n", field - free_now);
            fflush(stdout);
        }
        must(driver.allocate(&fields[index], field), "cuMemAlloc of a field");
    }
    for (int step = 0; step < 10; step++) driver.synchronize();
    for (int index = 0; index < FIELDS; index++) must(driver.release(fields[index]), "cuMemFree");
    puts("10 steps");
    return 0;
}
