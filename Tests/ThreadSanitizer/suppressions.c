#include "thread_sanitizer.h"

/* Compiled into the tests, so that `swift test --sanitize=thread` needs no option.
   A continuation that is resumed before its task awaits it goes on at once, on the task's thread. The concurrency runtime
   tells the sanitizer of the resume, but not of the task's going on by that short way; so the last thing that `resume`
   reads, where the result goes, looks like a race with what the task does next. Nothing else is left out. */
const char *__tsan_default_suppressions(void) {
  return "race_top:Scc6resume\n"
         "race_top:ScC6resume\n";
}
