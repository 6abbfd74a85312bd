/* sidecar MIB COMMAND...: holds so much memory of the first device while the command runs. */
#include "driver.h"

#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words) {
    struct driver driver = usual_driver();
    device_address held = 0;
    if (count < 3) stop("sidecar MIB COMMAND...");
    start(&driver);
    must(driver.allocate(&held, strtoul(words[1], NULL, 10) * MIB), "cuMemAlloc");
    pid_t child = fork();
    if (child == 0) {
        execvp(words[2], words + 2);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
