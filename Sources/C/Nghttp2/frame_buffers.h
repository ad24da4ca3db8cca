// Where nghttp2 puts the frame that a session is sending: 16 KiB of each session, for as long as it lives. Our answers
// use the first few hundred bytes of it, but malloc hands out memory that libssl's buffers have touched, so that all
// of it would be resident. Here it is memory that nobody has touched before: only pages that are written count.
#pragma once
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LK_FRAME_BYTES_MIN = 16 * 1024, LK_FRAME_BUFFERS_PER_SLAB = 64 };

// `spare` has room for every buffer of every slab.
struct lk_frame_buffers {
  size_t buffer_bytes;
  void **slabs, **spare;
  int slab_count, spare_count;
};
static inline struct lk_frame_buffers *lk_frame_buffers_new(void) {
  struct lk_frame_buffers *buffers = (struct lk_frame_buffers *)calloc(1, sizeof *buffers);
  // One page more than the payload, for what nghttp2 puts around it.
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (buffers) buffers->buffer_bytes = (LK_FRAME_BYTES_MIN + page) / page * page;
  return buffers;
}
static inline void lk_frame_buffers_free(struct lk_frame_buffers *buffers) {
  for (int at = 0; at < buffers->slab_count; at++) {
    munmap(buffers->slabs[at], buffers->buffer_bytes * LK_FRAME_BUFFERS_PER_SLAB);
  }
  free(buffers->slabs);
  free(buffers->spare);
  free(buffers);
}
// 0: no memory.
static inline int lk_frame_buffers_grow(struct lk_frame_buffers *buffers) {
  size_t count = (size_t)buffers->slab_count + 1;
  void **slabs = (void **)realloc(buffers->slabs, count * sizeof *slabs);
  if (!slabs) return 0;
  buffers->slabs = slabs;
  void **spare = (void **)realloc(buffers->spare, count * LK_FRAME_BUFFERS_PER_SLAB * sizeof *spare);
  if (!spare) return 0;
  buffers->spare = spare;
  size_t bytes = buffers->buffer_bytes * LK_FRAME_BUFFERS_PER_SLAB;
  char *slab = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (slab == MAP_FAILED) return 0;
  // A huge page would be resident as a whole for the sake of its first byte.
  madvise(slab, bytes, MADV_NOHUGEPAGE);
  slabs[buffers->slab_count++] = slab;
  for (int at = LK_FRAME_BUFFERS_PER_SLAB - 1; at >= 0; at--) {
    spare[buffers->spare_count++] = slab + (size_t)at * buffers->buffer_bytes;
  }
  return 1;
}
static inline void *lk_frame_buffers_take(struct lk_frame_buffers *buffers) {
  if (buffers->spare_count == 0 && !lk_frame_buffers_grow(buffers)) return NULL;
  return buffers->spare[--buffers->spare_count];
}
static inline void lk_frame_buffers_give(struct lk_frame_buffers *buffers, void *buffer) {
  madvise(buffer, buffers->buffer_bytes, MADV_DONTNEED);
  buffers->spare[buffers->spare_count++] = buffer;
}
