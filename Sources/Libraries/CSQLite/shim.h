#pragma once
#include <sqlite3.h>

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
