/* A job that computes until its time is over and is then ended by the alarm, in the middle of a step:
 * what it held at that instant was not forgotten, it was in use. */
#include "driver.h"

#include <unistd.h>

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    device_address state = 0;
    must(driver.allocate(&state, 700 * MIB), "cuMemAlloc");
    alarm(1);
    for (;;) {
        device_address first = 0, second = 0;
        must(driver.allocate(&first, 100 * MIB), "cuMemAlloc");
        must(driver.allocate(&second, 60 * MIB), "cuMemAlloc");
        usleep(2000);
        must(driver.release(first), "cuMemFree");
        must(driver.release(second), "cuMemFree");
    }
}
