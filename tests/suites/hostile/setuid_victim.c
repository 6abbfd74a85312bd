/* A program of root's with the setuid bit, linked at a fixed address. It asks for a word, and writes to DOOR if the word is
   right. Nobody gives the right word. */
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where the attacker has a stack when it becomes this program. */
char notes[1 << 18] __attribute__((aligned(4096)));

/* A call of the kernel without the C library, which needs a register that gdb would have put back wrongly. */
static long call_kernel(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
  long result;
  register long fourth __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c, x3 __asm__("x3") = d;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
#endif
}

__attribute__((noinline)) int logged_in(void) {
  long door = call_kernel(SYS_openat, AT_FDCWD, (long)DOOR, O_WRONLY | O_CREAT, 0600);
  return call_kernel(SYS_write, door, (long)"in\n", 3, 0) == 3;
}

int main(int count, char **words) {
  char word[8] = {0};
  (void)words;
  if (count > 1)
    return geteuid() != 0; /* the check asks whether the setuid bit works here */
  /* Without a reader of its output it ends here, by SIGPIPE. */
  ssize_t asked = write(1, "word: ", 6);
  ssize_t got = read(0, word, sizeof word - 1);
  if (asked == 6 && got == 7 && !memcmp(word, "\1\2\3\4\5\6\7", 7))
    return !logged_in();
  sleep(30);
  return 1;
}
