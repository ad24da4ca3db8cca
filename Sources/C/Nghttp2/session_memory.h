// What nghttp2 takes its memory from: see blocks.h for what is small, pages.h for what is large.
#pragma once
#include <nghttp2/nghttp2.h>
#include <string.h>
#include "blocks.h"
#include "pages.h"

enum { LK_FRAME_BYTES_MIN = 16 * 1024 };

// Of one thread and all its sessions.
struct lk_session_pool {
  struct lk_blocks blocks;
  struct lk_pages frames, tables;
  size_t sessions;
};
static inline struct lk_session_pool *lk_session_pool_new(void) {
  struct lk_session_pool *pool = (struct lk_session_pool *)calloc(1, sizeof *pool);
  if (!pool) return NULL;
  size_t page = lk_page_bytes();
  // One page more than the payload, for what nghttp2 puts around it.
  pool->frames.run_bytes = (LK_FRAME_BYTES_MIN + page) / page * page;
  pool->tables.run_bytes = page;
  return pool;
}
static inline void lk_session_pool_free(struct lk_session_pool *pool) {
  lk_blocks_free(&pool->blocks);
  lk_pages_free(&pool->frames);
  lk_pages_free(&pool->tables);
  free(pool);
}

// What nghttp2 is told for one session. Without a pool everything comes from malloc.
struct lk_session_memory {
  struct lk_session_pool *pool;
  void *frame, *table;
  // Both are taken while nghttp2 makes a session: what has their size later on is something else.
  int is_made;
};
static inline struct lk_session_memory lk_session_memory_begin(struct lk_session_pool *pool) {
  struct lk_session_memory memory = {pool, NULL, NULL, 0};
  if (pool) pool->sessions++;
  return memory;
}
// After the last session a thread holds no block: what is not given back then is lost, and a test sees it.
static inline void lk_session_memory_end(struct lk_session_memory *memory) {
  if (memory->pool && --memory->pool->sessions == 0) lk_blocks_free(&memory->pool->blocks);
}
// Only for a session that has sent all it had: what is left of the last frame is of no use to anybody. A table without
// streams is all zero; one that is not stays as it is.
static inline void lk_session_memory_rest(struct lk_session_memory *memory) {
  struct lk_session_pool *pool = memory->pool;
  if (memory->frame) lk_pages_clear(&pool->frames, memory->frame);
  if (memory->table && lk_pages_are_zero(&pool->tables, memory->table)) lk_pages_clear(&pool->tables, memory->table);
}
static inline void *lk_session_malloc(size_t bytes, void *context) {
  struct lk_session_memory *memory = (struct lk_session_memory *)context;
  struct lk_session_pool *pool = memory->pool;
  if (pool && !memory->is_made && !memory->frame && bytes > LK_FRAME_BYTES_MIN && bytes <= pool->frames.run_bytes) {
    memory->frame = lk_pages_take(&pool->frames);
    if (memory->frame) return memory->frame;
  }
  return lk_block_take(pool ? &pool->blocks : NULL, bytes);
}
static inline void lk_session_free(void *pointer, void *context) {
  struct lk_session_memory *memory = (struct lk_session_memory *)context;
  struct lk_session_pool *pool = memory->pool;
  if (!pointer) return;
  if (pointer == memory->frame) {
    lk_pages_give(&pool->frames, pointer);
    memory->frame = NULL;
  } else if (pointer == memory->table) {
    lk_pages_give(&pool->tables, pointer);
    memory->table = NULL;
  } else {
    lk_block_give(pool ? &pool->blocks : NULL, pointer);
  }
}
static inline void *lk_session_calloc(size_t count, size_t bytes, void *context) {
  struct lk_session_memory *memory = (struct lk_session_memory *)context;
  struct lk_session_pool *pool = memory->pool;
  size_t all;
  if (__builtin_mul_overflow(count, bytes, &all)) return NULL;
  if (pool && !memory->is_made && !memory->table && all == pool->tables.run_bytes) {
    memory->table = lk_pages_take(&pool->tables);
    if (memory->table) return memory->table;
  }
  void *pointer = lk_session_malloc(all, context);
  if (pointer) memset(pointer, 0, all);
  return pointer;
}
// The room behind a pointer.
static inline size_t lk_session_bytes(const struct lk_session_memory *memory, void *pointer) {
  if (pointer == memory->frame) return memory->pool->frames.run_bytes;
  if (pointer == memory->table) return memory->pool->tables.run_bytes;
  return lk_block_bytes(pointer);
}
static inline void *lk_session_realloc(void *pointer, size_t bytes, void *context) {
  struct lk_session_memory *memory = (struct lk_session_memory *)context;
  // This is how nghttp2 asks for a frame's buffer in the first place.
  if (!pointer) return lk_session_malloc(bytes, context);
  size_t room = lk_session_bytes(memory, pointer);
  if (bytes <= room && pointer != memory->frame) return pointer;
  void *moved = lk_block_take(memory->pool ? &memory->pool->blocks : NULL, bytes);
  if (!moved) return NULL;
  memcpy(moved, pointer, bytes < room ? bytes : room);
  lk_session_free(pointer, context);
  return moved;
}
static inline int lk_session_new(nghttp2_session **session, const nghttp2_session_callbacks *callbacks, void *context,
                                 const nghttp2_option *option, struct lk_session_memory *memory) {
  nghttp2_mem functions = {memory, lk_session_malloc, lk_session_free, lk_session_calloc, lk_session_realloc};
  int result = nghttp2_session_server_new3(session, callbacks, context, option, &functions);
  memory->is_made = 1;
  return result;
}
