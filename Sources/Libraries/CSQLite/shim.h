#pragma once
#include <linux/stat.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <unistd.h>

/* SQLITE_TRANSIENT is a cast macro, which Swift does not import. */
static inline int csqlite_bind_blob(sqlite3_stmt *s, int i, const void *p, sqlite3_uint64 n) {
  return sqlite3_bind_blob64(s, i, p, n, SQLITE_TRANSIENT);
}
static inline int csqlite_bind_text(sqlite3_stmt *s, int i, const char *p, sqlite3_uint64 n) {
  return sqlite3_bind_text64(s, i, p, n, SQLITE_TRANSIENT, SQLITE_UTF8);
}
/* sqlite3_config and sqlite3_db_config are variadic. */
static inline int csqlite_count_no_memory(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
static inline int csqlite_defensive(sqlite3 *db) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}

// The nanoseconds from 1970 to the making of a file; 0 where its file system doesn't know. glibc shows statx to GNU sources only.
// -100 is AT_FDCWD: its header would make struct stat a part of this module, and of none that Swift's other files import.
static inline long long csqlite_birth(const char *path) {
  struct statx status;
  if (syscall(SYS_statx, -100, path, 0, STATX_BTIME, &status) != 0 || !(status.stx_mask & STATX_BTIME)) return 0;
  return status.stx_btime.tv_sec * 1000000000LL + status.stx_btime.tv_nsec;
}
