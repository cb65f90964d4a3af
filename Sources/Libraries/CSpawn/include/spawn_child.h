#pragma once
#include <sys/types.h>

/* Starts a program with no signal blocked and no descriptor but its standard ones.

   program: a path, or a name to be looked for in PATH.
   folder: its working folder, or NULL for this process's.
   streams: the descriptors that become its standard input, output and error.

   Returns 0, or an error number. */
int spawn_child(
  pid_t *process, const char *program, char *const arguments[], char *const environment[],
  const char *folder, const int streams[3]);
