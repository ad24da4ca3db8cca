#define _GNU_SOURCE
#include "interpose.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// As `RECORD` in power_cut.py reads it; the bytes of a write follow.
struct record { uint32_t kind, file; uint64_t at, count; };
enum file { FILE_DATABASE, FILE_LOG, FILE_OTHER };

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

static enum file file_of(int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return FILE_OTHER;
  path[length] = 0;
  if (ends(path, ".db")) return FILE_DATABASE;
  return ends(path, ".db-wal") ? FILE_LOG : FILE_OTHER;
}

void begin_record(void) {
  if (trace >= 0) pthread_mutex_lock(&order);
}

void end_record(enum record_kind kind, int descriptor, const void *bytes, uint64_t count, uint64_t at) {
  if (trace < 0) return;
  enum file file = kind == RECORD_SENT ? FILE_OTHER : file_of(descriptor);
  if (kind == RECORD_SENT || file != FILE_OTHER) {
    struct record record = {kind, file, at, count};
    struct iovec parts[] = {{&record, sizeof record}, {(void *)bytes, bytes ? count : 0}};
    if (writev(trace, parts, 2) < 0) abort();
  }
  pthread_mutex_unlock(&order);
}
