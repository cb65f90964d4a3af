#define _GNU_SOURCE
#include "spawn_child.h"

#include <signal.h>
#include <spawn.h>

int spawn_child(
  pid_t *process, const char *program, char *const arguments[], char *const environment[],
  const char *folder, const int streams[3]) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int stream = 0; stream < 3; stream++)
    posix_spawn_file_actions_adddup2(&actions, streams[stream], stream);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  if (folder) posix_spawn_file_actions_addchdir_np(&actions, folder);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  // Whoever started the tests may have these ignored, as nohup and shells without job control do.
  sigset_t ending;
  sigemptyset(&ending);
  const int numbers[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
  for (int index = 0; index < 4; index++) sigaddset(&ending, numbers[index]);
  posix_spawnattr_setsigdefault(&attributes, &ending);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawnp(process, program, &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}
