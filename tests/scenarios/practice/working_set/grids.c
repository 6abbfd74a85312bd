/* A solver with three grids: grids SIZE_IN_MIB. True: two fit, the third does not; nothing is wasted. */
#include "driver.h"

static const char *const GRIDS[] = {"pressure", "velocity", "residual"};

int main(int count, char **words) {
    struct driver driver = usual_driver();
    start(&driver);
    size_t size = (count > 1 ? (size_t)atoi(words[1]) : 64) * MIB;
    for (int grid = 0; grid < 3; grid++) {
        device_address address = 0;
        must(driver.allocate(&address, size), GRIDS[grid]);
    }
    puts("three grids");
    return 0;
}
