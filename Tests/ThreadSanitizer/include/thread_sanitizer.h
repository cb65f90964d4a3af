#pragma once
/* What the thread sanitizer's runtime asks for as it starts: the reports to leave out, a line each. */
const char *__tsan_default_suppressions(void);
