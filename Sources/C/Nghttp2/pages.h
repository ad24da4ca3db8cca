// Where nghttp2 puts the two large things that each session has for as long as it lives: the frame that it is sending
// (16 KiB) and the table of its streams (one page). Our answers use the first few hundred bytes of the one, and an
// idle session has nothing in either; but malloc hands out memory that libssl's buffers have touched, so that all of
// it would be resident. Here it is memory that nobody has touched before, and that goes back to the kernel while a
// session rests.
#pragma once
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Connections come and go: with so many runs that stay resident from then on the next one need not wait until the
// kernel has found and cleared pages for it, which is a fortieth of a handshake (deploy/bench, full TLS handshakes).
enum { LK_RUNS_PER_SLAB = 64, LK_RUNS_WARM_MAX = 64 };

// Runs of whole pages, all of the same size and zero when they are taken. `spare` has room for every run of every slab;
// those that are `warm` are resident.
struct lk_pages {
  size_t run_bytes;
  void **slabs, **spare, *warm[LK_RUNS_WARM_MAX];
  int slab_count, spare_count, warm_count;
};
static inline size_t lk_page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static inline void lk_pages_free(struct lk_pages *pages) {
  for (int at = 0; at < pages->slab_count; at++) munmap(pages->slabs[at], pages->run_bytes * LK_RUNS_PER_SLAB);
  free(pages->slabs);
  free(pages->spare);
}
// 0: no memory.
static inline int lk_pages_grow(struct lk_pages *pages) {
  size_t count = (size_t)pages->slab_count + 1;
  void **slabs = (void **)realloc(pages->slabs, count * sizeof *slabs);
  if (!slabs) return 0;
  pages->slabs = slabs;
  void **spare = (void **)realloc(pages->spare, count * LK_RUNS_PER_SLAB * sizeof *spare);
  if (!spare) return 0;
  pages->spare = spare;
  size_t bytes = pages->run_bytes * LK_RUNS_PER_SLAB;
  char *slab = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (slab == MAP_FAILED) return 0;
  // A huge page would be resident as a whole for the sake of its first byte.
  madvise(slab, bytes, MADV_NOHUGEPAGE);
  slabs[pages->slab_count++] = slab;
  for (int at = LK_RUNS_PER_SLAB - 1; at >= 0; at--) {
    spare[pages->spare_count++] = slab + (size_t)at * pages->run_bytes;
  }
  return 1;
}
static inline void *lk_pages_take(struct lk_pages *pages) {
  if (pages->warm_count > 0) return pages->warm[--pages->warm_count];
  if (pages->spare_count == 0 && !lk_pages_grow(pages)) return NULL;
  return pages->spare[--pages->spare_count];
}
// What was in them is gone, and they are zero. They are resident no longer until they are written again.
static inline void lk_pages_clear(const struct lk_pages *pages, void *run) {
  if (madvise(run, pages->run_bytes, MADV_DONTNEED) != 0) memset(run, 0, pages->run_bytes);
}
static inline void lk_pages_give(struct lk_pages *pages, void *run) {
  if (pages->warm_count < LK_RUNS_WARM_MAX) {
    memset(run, 0, pages->run_bytes);
    pages->warm[pages->warm_count++] = run;
  } else {
    lk_pages_clear(pages, run);
    pages->spare[pages->spare_count++] = run;
  }
}
static inline int lk_pages_are_zero(const struct lk_pages *pages, const void *run) {
  const unsigned char *bytes = (const unsigned char *)run;
  return bytes[0] == 0 && memcmp(bytes, bytes + 1, pages->run_bytes - 1) == 0;
}
