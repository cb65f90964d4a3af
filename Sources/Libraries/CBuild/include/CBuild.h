#pragma once

/// The commit that the program was built from, or "unknown" where it was built without git or without make.
const char *build_commit(void);

/// The date of that commit, as RFC 3339 writes it, or "unknown".
const char *build_date(void);

/// The name and version of the compiler.
const char *build_compiler(void);
