// A mapping of the file that outlives a snapshot.
#pragma once
#include <sqlite3.h>
#include <stdlib.h>

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
