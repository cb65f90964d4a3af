#define _GNU_SOURCE
#include "awd_memory.h"

#include <malloc.h>
#include <sys/mman.h>

int memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC); }

void map_large_blocks(int size) { mallopt(M_MMAP_THRESHOLD, size); }
