/* workers COUNT: a server that starts so many workers, each of which opens the device although it only
 * prepares data, and then loads its model. True: the workers' contexts take what the model lacks. */
#include "driver.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MODEL (900 * MIB)

static struct driver driver;

static size_t free_bytes(void) {
    int (*get_info)(size_t *, size_t *) = by_dlsym("cuMemGetInfo_v2");
    size_t free = 0, total = 0;
    must(get_info(&free, &total), "cuMemGetInfo");
    return free;
}

/* Says so once it is ready, and waits for work. */
static int prepare_data(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (write(STDOUT_FILENO, "r", 1) != 1) return 1;
    pause();
    return 0;
}

static void start_worker(void) {
    int ready[2];
    char byte;
    if (pipe(ready)) stop("no pipe");
    if (fork() == 0) {
        dup2(ready[1], STDOUT_FILENO);
        execl("/proc/self/exe", "workers", "prepare", (char *)NULL);
        _exit(127);
    }
    if (read(ready[0], &byte, 1) != 1) stop("a worker has gone");
}

int main(int count, char **words) {
    driver = usual_driver();
    start(&driver);
    if (count > 1 && strcmp(words[1], "prepare") == 0) return prepare_data();

    size_t before = free_bytes();
    for (int workers = count > 1 ? atoi(words[1]) : 6; workers > 0; workers--) start_worker();
    printf("{\"bytes\": %zu}\n", before - free_bytes());
    fflush(stdout);
    device_address model = 0;
    must(driver.allocate(&model, MODEL), "cuMemAlloc of the model");
    return 0;
}
