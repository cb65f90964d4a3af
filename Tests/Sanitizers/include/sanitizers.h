#pragma once
/* What a sanitizer's runtime asks for as it starts: the reports to leave out, a line each. */
const char *__tsan_default_suppressions(void);
const char *__asan_default_suppressions(void);
