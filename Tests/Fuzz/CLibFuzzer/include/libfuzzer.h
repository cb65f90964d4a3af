#pragma once
#include <stddef.h>
#include <stdint.h>

/* Runs libFuzzer with a program's arguments; the linker finds it where `-sanitize=fuzzer` is given. */
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*test)(const uint8_t *data, size_t size));
