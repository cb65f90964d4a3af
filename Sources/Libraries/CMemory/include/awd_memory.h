#pragma once

/* Makes a file without a name that lies in memory (memfd_create(2)), which C alone declares.

   name: what the file is called below /proc, for people.

   Returns its descriptor, which programs that are started don't get, or -1. */
int memory_file(const char *name);

/* Has malloc map each block of at least size bytes by itself, so that it is given back when it is freed (mallopt(3)). */
void map_large_blocks(int size);
