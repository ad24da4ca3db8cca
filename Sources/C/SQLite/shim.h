// Parts of SQLite that Swift cannot import: variadic functions, and macros that are more than a number.
#pragma once
#include <sqlite3.h>

static const int csqlite_ioerr_fsync = SQLITE_IOERR_FSYNC;
static const int csqlite_ioerr_nomem = SQLITE_IOERR_NOMEM;
static const int csqlite_ioerr_dir_fsync = SQLITE_IOERR_DIR_FSYNC;
static const int csqlite_constraint_unique = SQLITE_CONSTRAINT_UNIQUE;
static const int csqlite_constraint_primarykey = SQLITE_CONSTRAINT_PRIMARYKEY;

static inline int csqlite_config_memory_statistics(int on) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, on); }

static inline int csqlite_db_config(sqlite3 *db, int option, int on) {
  return sqlite3_db_config(db, option, on, (int *)0);
}

// A null pointer would bind NULL. Swift's empty buffers have a null pointer, so both functions replace it. A `kept`
// value stays in place until the statement is reset, and is bound again before the next run. SQLite copies all other
// values.
static inline int csqlite_bind_text(
    sqlite3_stmt *statement, int at, const void *text, sqlite3_uint64 bytes, int kept) {
  return sqlite3_bind_text64(
      statement, at, bytes ? (const char *)text : "", bytes, kept ? SQLITE_STATIC : SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int csqlite_bind_blob(
    sqlite3_stmt *statement, int at, const void *bytes, sqlite3_uint64 count, int kept) {
  return count ? sqlite3_bind_blob64(statement, at, bytes, count, kept ? SQLITE_STATIC : SQLITE_TRANSIENT)
               : sqlite3_bind_zeroblob(statement, at, 0);
}
