#define _GNU_SOURCE
#include "sanitizers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Compiled into the tests, so that `swift test --sanitize=…` needs no option. */

/* A continuation that is resumed before its task awaits it goes on at once, on the task's thread. The concurrency runtime
   tells the sanitizer of the resume, but not of the task's going on by that short way; so the last thing that `resume`
   reads, where the result goes, looks like a race with what the task does next. */
static const char thread_suppressions[] =
  "race_top:Scc6resume\n"
  "race_top:ScC6resume\n";

const char *__tsan_default_suppressions(void) { return thread_suppressions; }

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
/* Everything takes ten times as long. With all tests under way at once each would wait for its turn longer than any peer in a
   test waits for an answer, so only a few are. */
__attribute__((constructor)) static void limit_tests(void) {
  setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "4", 0);
}
#endif

#if __has_feature(thread_sanitizer)
/* The program, which the tests start, has none of this compiled in: its sanitizer reads the same from a file of this process,
   which the options that it inherits name. */
__attribute__((constructor)) static void hand_suppressions_on(void) {
  const size_t length = strlen(thread_suppressions);
  const int file = memfd_create("suppressions", MFD_CLOEXEC);
  if (file < 0 || write(file, thread_suppressions, length) != (ssize_t)length) return;
  const char *own = getenv("TSAN_OPTIONS");
  char options[1024];
  const int written = snprintf(
    options, sizeof options, "%s suppressions=/proc/%d/fd/%d", own ? own : "", (int)getpid(), file);
  if (written > 0 && (size_t)written < sizeof options) setenv("TSAN_OPTIONS", options, 1);
}
#endif
