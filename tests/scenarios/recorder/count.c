/* A library that tells callgrind which part of a program to count. */
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>

void count_begin(void) { CALLGRIND_START_INSTRUMENTATION; }

void count_end(void) { CALLGRIND_STOP_INSTRUMENTATION; }
#else
void count_begin(void) {}

void count_end(void) {}
#endif
