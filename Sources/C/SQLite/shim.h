// What Swift cannot import of SQLite: variadic functions, and macros that are more than a number.
#pragma once
#include <sqlite3.h>
#include <stdlib.h>

static const int csqlite_ioerr_fsync = SQLITE_IOERR_FSYNC;
static const int csqlite_ioerr_dir_fsync = SQLITE_IOERR_DIR_FSYNC;
static const int csqlite_constraint_unique = SQLITE_CONSTRAINT_UNIQUE;
static const int csqlite_constraint_primarykey = SQLITE_CONSTRAINT_PRIMARYKEY;

static inline int csqlite_config_memory_statistics(int on) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, on); }

static inline int csqlite_db_config(sqlite3 *db, int option, int on) {
  return sqlite3_db_config(db, option, on, (int *)0);
}

// A null pointer would bind NULL, and Swift's empty buffers have one; hence the two stand-ins.
static inline int csqlite_bind_text(sqlite3_stmt *statement, int at, const void *text, sqlite3_uint64 bytes) {
  return sqlite3_bind_text64(statement, at, bytes ? (const char *)text : "", bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int csqlite_bind_blob(sqlite3_stmt *statement, int at, const void *bytes, sqlite3_uint64 count) {
  return count ? sqlite3_bind_blob64(statement, at, bytes, count, SQLITE_TRANSIENT)
               : sqlite3_bind_zeroblob(statement, at, 0);
}

// SQLite drops a connection's mapping of the file each time that its snapshot has changed, since another process might
// have made the file shorter; the pages that a reader needs are then mapped, and faulted in, anew. Nobody else writes
// this file and it never gets shorter, so a mapping is good for many snapshots: what lies past its end is read, and
// after so many changes it is dropped after all, so that it grows with the file.
enum { CSQLITE_SNAPSHOTS_PER_MAPPING = 256 };

struct csqlite_kept_mapping {
  // First, because a file's pointer to it is a pointer to this.
  sqlite3_io_methods methods;
  const sqlite3_io_methods *original;
  int snapshots;
};

static inline int csqlite_kept_mapping_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *page) {
  struct csqlite_kept_mapping *kept = (struct csqlite_kept_mapping *)file->pMethods;
  // Without a page all of the mapping is meant.
  if (!page && ++kept->snapshots < CSQLITE_SNAPSHOTS_PER_MAPPING) return SQLITE_OK;
  if (!page) kept->snapshots = 0;
  return kept->original->xUnfetch(file, offset, page);
}

static inline int csqlite_kept_mapping_close(sqlite3_file *file) {
  struct csqlite_kept_mapping *kept = (struct csqlite_kept_mapping *)file->pMethods;
  int result = kept->original->xClose(file);
  free(kept);
  return result;
}

static inline int csqlite_keep_mapping(sqlite3 *db) {
  sqlite3_file *file = NULL;
  int result = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (result != SQLITE_OK || !file || !file->pMethods || file->pMethods->iVersion < 3) return result;
  struct csqlite_kept_mapping *kept = (struct csqlite_kept_mapping *)malloc(sizeof *kept);
  if (!kept) return SQLITE_NOMEM;
  kept->methods = *file->pMethods;
  kept->original = file->pMethods;
  kept->snapshots = 0;
  kept->methods.xUnfetch = csqlite_kept_mapping_unfetch;
  kept->methods.xClose = csqlite_kept_mapping_close;
  file->pMethods = &kept->methods;
  return SQLITE_OK;
}
