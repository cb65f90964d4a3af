#include "CBuild.h"

// `make` writes it from git before it builds. Only this file depends on it: a commit compiles no Swift again.
#if __has_include("revision.h")
#include "revision.h"
#endif
#ifndef BUILD_COMMIT
#define BUILD_COMMIT "unknown"
#endif
#ifndef BUILD_DATE
#define BUILD_DATE "unknown"
#endif
#ifndef BUILD_COMPILER
#define BUILD_COMPILER __VERSION__
#endif

const char *build_commit(void) { return BUILD_COMMIT; }

const char *build_date(void) { return BUILD_DATE; }

const char *build_compiler(void) { return BUILD_COMPILER; }
