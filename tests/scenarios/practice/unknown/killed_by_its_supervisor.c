/* A supervisor waits a second for its worker's answer, and then ends it with SIGKILL. The worker's
 * recording stops in the middle, with nothing wrong in it; who sent the signal is written nowhere. */
#include "driver.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(void) {
    struct driver driver = usual_driver();
    start(&driver);
    for (;;) {
        device_address scratch = 0;
        must(driver.allocate(&scratch, 300 * MIB), "cuMemAlloc");
        usleep(5000);
        must(driver.release(scratch), "cuMemFree");
    }
}

int main(void) {
    pid_t worker = fork();
    if (worker == 0) work();
    if (worker < 0) stop("no worker");
    sleep(1);
    kill(worker, SIGKILL);
    waitpid(worker, NULL, 0);
    fprintf(stderr, "worker did not answer\n");
    return 1;
}
