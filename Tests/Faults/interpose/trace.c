#define _GNU_SOURCE
#include "interpose.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// The layout of `RECORD` in power_cut.py; the bytes of a write follow.
struct record { uint32_t kind, file; uint64_t at, count; };
enum file { FILE_DATABASE, FILE_LOG, FILE_JOURNAL, FILE_LOCK, FILE_OTHER };

static int trace = -1;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("LATCHKEY_TRACE");
  if (path) trace = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (path && trace < 0) abort();
}

static bool ends(const char *text, const char *ending) {
  size_t length = strlen(text), most = strlen(ending);
  return length >= most && strcmp(text + length - most, ending) == 0;
}

static enum file file_named(const char *path) {
  if (ends(path, ".db")) return FILE_DATABASE;
  if (ends(path, ".db-wal")) return FILE_LOG;
  if (ends(path, ".db.lock")) return FILE_LOCK;
  return ends(path, ".db-journal") ? FILE_JOURNAL : FILE_OTHER;
}

static enum file file_of(int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return FILE_OTHER;
  path[length] = 0;
  return file_named(path);
}

void begin_record(void) {
  if (trace >= 0) pthread_mutex_lock(&order);
}

static void put(enum record_kind kind, enum file file, const void *bytes, uint64_t count, uint64_t at) {
  struct record record = {kind, file, at, count};
  struct iovec parts[] = {{&record, sizeof record}, {(void *)bytes, bytes ? count : 0}};
  if (writev(trace, parts, 2) < 0) abort();
}

void end_record(enum record_kind kind, int descriptor, const void *bytes, uint64_t count, uint64_t at) {
  if (trace < 0) return;
  enum file file = kind == RECORD_SENT ? FILE_OTHER : file_of(descriptor);
  if (kind == RECORD_SENT || file != FILE_OTHER) put(kind, file, bytes, count, at);
  pthread_mutex_unlock(&order);
}

void end_unlink_record(const char *path) {
  if (trace < 0) return;
  if (file_named(path) != FILE_OTHER) put(RECORD_UNLINK, file_named(path), NULL, 0, 0);
  pthread_mutex_unlock(&order);
}
