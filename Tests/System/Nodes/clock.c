// Preloaded into a program, puts its clock CLOCK_DIFFERENCE seconds fast, or slow if that is negative; or as many as the file
// CLOCK_FILE says at the time. Durations stay right.
//
// Debian's libfaketime moves the times of timerfd, too, whatever their clock, so that a program's timers go off at once or never.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t difference(void) {
  const char *text = getenv("CLOCK_DIFFERENCE"), *name = getenv("CLOCK_FILE");
  if (!name) return text ? atol(text) : 0;
  char digits[32] = "";
  int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  if (read(file, digits, sizeof digits - 1) < 0) digits[0] = 0;
  close(file);
  return atol(digits);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += difference();
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
