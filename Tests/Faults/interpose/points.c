#define _GNU_SOURCE
#include "interpose.h"
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct point *points;

static const struct { const char *name; enum point_name point; } libraries[] = {
    {"(the program)", PROGRAM},
    {"libnghttp2.", MEMORY_NGHTTP2}, {"libcrypto.", MEMORY_OPENSSL}, {"libssl.", MEMORY_OPENSSL},
    {"libsqlite3.", MEMORY_SQLITE},  {"libsodium.", MEMORY_SODIUM},  {"libidn2.", MEMORY_TEXT},
    {"libunistring.", MEMORY_TEXT},  {"libutf8proc.", MEMORY_TEXT},  {"libcurl.", MEMORY_CURL},
    {"libfido2.", MEMORY_FIDO2},     {"libcbor.", MEMORY_FIDO2},
};

#define RANGES_MAX 40
static struct { uintptr_t from, to; enum point_name point; } ranges[RANGES_MAX];
static int range_count;

static void note_range(uintptr_t from, uintptr_t bytes, enum point_name point) {
  if (range_count == RANGES_MAX) abort();
  ranges[range_count].from = from;
  ranges[range_count].to = from + bytes;
  ranges[range_count++].point = point;
}

// nghttp2 allocates session memory through a function of the program (HTTP2/SessionPool). The test passes its offset
// and size in hexadecimal, since the program does not export it.
static void note_session_memory(uintptr_t program) {
  const char *text = getenv("LATCHKEY_SESSION_MEMORY");
  if (!text) return;
  char *end;
  uintptr_t offset = strtoull(text, &end, 16), bytes = strtoull(end, &end, 16);
  if (bytes == 0) abort();
  note_range(program + offset, bytes, MEMORY_NGHTTP2);
}

static int note_library(struct dl_phdr_info *info, size_t bytes, void *unused) {
  (void)bytes, (void)unused;
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    // The program itself comes first and has no name.
    bool is_program = libraries[i].point == PROGRAM && range_count == 0;
    if (!is_program && !strstr(info->dlpi_name, libraries[i].name)) continue;
    // Noted before the whole program: the first matching range counts.
    if (is_program) note_session_memory(info->dlpi_addr);
    for (int j = 0; j < info->dlpi_phnum; j++) {
      const ElfW(Phdr) *segment = &info->dlpi_phdr[j];
      if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
      note_range(info->dlpi_addr + segment->p_vaddr, segment->p_memsz, libraries[i].point);
    }
  }
  return 0;
}

// The libraries are already mapped, since the program is linked with them.
__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("LATCHKEY_FAULTS");
  if (!path) return;
  dl_iterate_phdr(note_library, NULL);
  int descriptor = open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) abort();
  void *shared = mmap(NULL, POINTS * sizeof(struct point), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (shared == MAP_FAILED) abort();
  close(descriptor);
  // Blocks of the previous process ended with it.
  for (int i = 0; i < POINTS; i++) atomic_store(&((struct point *)shared)[i].live, 0);
  points = shared;
}

enum point_name library_of(const void *address) {
  uintptr_t at = (uintptr_t)address;
  for (int i = 0; i < range_count; i++) {
    if (at >= ranges[i].from && at < ranges[i].to) return ranges[i].point;
  }
  return NO_POINT;
}

bool fails(enum point_name name) {
  if (!points || name == NO_POINT) return false;
  struct point *point = &points[name];
  uint64_t passage = atomic_fetch_add(&point->passages, 1) + 1;
  uint64_t from = atomic_load(&point->from);
  if (from == 0 || passage < from || passage - from >= atomic_load(&point->count)) return false;
  atomic_fetch_add(&point->failures, 1);
  int64_t error = atomic_load(&point->error);
  // Like a disk that does not respond.
  while (error == NO_RETURN) pause();
  errno = (int)error;
  return true;
}
