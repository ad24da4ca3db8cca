// A write-ahead log that is written in large pieces.
#pragma once
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// SQLite writes each frame of its log by two system calls, for a head of 24 bytes and for a page. Here they are
// gathered, and written before the sync that ends a commit. Nobody looks for frames before that sync: readers find them
// by an index in memory that SQLite brings up to date after it (`synchronous = FULL`), and the connection itself writes
// none before it commits (`cache_spill = OFF`). A piece that cannot be written fails the commit, as a frame would.
enum { CSQLITE_GATHERED_BYTES_MAX = 128 * 1024 };

struct csqlite_gathered_log {
  // First, because a file's pointer to it is a pointer to this.
  sqlite3_io_methods methods;
  const sqlite3_io_methods *original;
  sqlite3_int64 offset;
  int count;
  unsigned char bytes[CSQLITE_GATHERED_BYTES_MAX];
};

static inline struct csqlite_gathered_log *csqlite_log_of(sqlite3_file *file) {
  return (struct csqlite_gathered_log *)file->pMethods;
}

static inline int csqlite_log_write_out(sqlite3_file *file) {
  struct csqlite_gathered_log *log = csqlite_log_of(file);
  int count = log->count;
  if (!count) return SQLITE_OK;
  log->count = 0;
  return log->original->xWrite(file, log->bytes, count, log->offset);
}

static inline int csqlite_log_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
  struct csqlite_gathered_log *log = csqlite_log_of(file);
  if (offset != log->offset + log->count || count > CSQLITE_GATHERED_BYTES_MAX - log->count) {
    int result = csqlite_log_write_out(file);
    if (result != SQLITE_OK) return result;
    if (count > CSQLITE_GATHERED_BYTES_MAX) return log->original->xWrite(file, bytes, count, offset);
    log->offset = offset;
  }
  memcpy(log->bytes + log->count, bytes, (size_t)count);
  log->count += count;
  return SQLITE_OK;
}

static inline int csqlite_log_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
  int result = csqlite_log_write_out(file);
  return result == SQLITE_OK ? csqlite_log_of(file)->original->xRead(file, bytes, count, offset) : result;
}

static inline int csqlite_log_sync(sqlite3_file *file, int flags) {
  int result = csqlite_log_write_out(file);
  return result == SQLITE_OK ? csqlite_log_of(file)->original->xSync(file, flags) : result;
}

static inline int csqlite_log_close(sqlite3_file *file) {
  struct csqlite_gathered_log *log = csqlite_log_of(file);
  int result = log->original->xClose(file);
  free(log);
  return result;
}

// Where a torn write may harm what stands beside it, SQLite pads a commit to whole sectors and writes the end of the
// padding after the sync: such a log is left as it is. SQLite asks the database's file about it, not the log's.
static inline int csqlite_pads_log(sqlite3 *db) {
  sqlite3_file *file = NULL;
  int result = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (result != SQLITE_OK || !file || !file->pMethods) return 1;
  return (file->pMethods->xDeviceCharacteristics(file) & SQLITE_IOCAP_POWERSAFE_OVERWRITE) == 0;
}

static inline int csqlite_gather_log(sqlite3 *db) {
  if (csqlite_pads_log(db)) return SQLITE_OK;
  sqlite3_file *file = NULL;
  int result = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (result != SQLITE_OK || !file || !file->pMethods) return result == SQLITE_OK ? SQLITE_MISUSE : result;
  struct csqlite_gathered_log *log = (struct csqlite_gathered_log *)malloc(sizeof *log);
  if (!log) return SQLITE_NOMEM;
  log->methods = *file->pMethods;
  log->original = file->pMethods;
  log->offset = 0;
  log->count = 0;
  log->methods.xWrite = csqlite_log_write;
  log->methods.xRead = csqlite_log_read;
  log->methods.xSync = csqlite_log_sync;
  log->methods.xClose = csqlite_log_close;
  file->pMethods = &log->methods;
  return SQLITE_OK;
}
