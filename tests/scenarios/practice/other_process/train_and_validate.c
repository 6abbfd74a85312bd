/* Training steps with one buffer; every eightieth is a validation with a second one. True: nothing grows,
 * and the first validation went well; somebody else came between it and the next. */
#include "driver.h"

#include <unistd.h>

#define STEPS 110
#define STEP_MICROSECONDS 20000

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    for (int step = 0; step < STEPS; step++) {
        device_address training = 0, validation = 0;
        must(driver.allocate(&training, 1200 * MIB), "cuMemAlloc");
        if (step % 80 == 20) {
            must(driver.allocate(&validation, 800 * MIB), "cuMemAlloc for the validation");
            must(driver.release(validation), "cuMemFree");
        }
        usleep(STEP_MICROSECONDS);
        must(driver.release(training), "cuMemFree");
    }
    return 0;
}
