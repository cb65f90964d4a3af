#pragma once
/* The reports that the thread sanitizer leaves out, a line each; its runtime calls this as it starts. */
const char *__tsan_default_suppressions(void);
