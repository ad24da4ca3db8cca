// What nghttp2 takes its memory from: see blocks.h for what is small, frame_buffers.h for what is large.
#pragma once
#include <nghttp2/nghttp2.h>
#include <string.h>
#include "blocks.h"
#include "frame_buffers.h"

// Of one thread and all its sessions.
struct lk_session_pool {
  struct lk_blocks blocks;
  struct lk_frame_buffers *buffers;
  size_t sessions;
};
static inline struct lk_session_pool *lk_session_pool_new(void) {
  struct lk_session_pool *pool = (struct lk_session_pool *)calloc(1, sizeof *pool);
  if (!pool) return NULL;
  pool->buffers = lk_frame_buffers_new();
  if (pool->buffers) return pool;
  free(pool);
  return NULL;
}
static inline void lk_session_pool_free(struct lk_session_pool *pool) {
  lk_blocks_free(&pool->blocks);
  lk_frame_buffers_free(pool->buffers);
  free(pool);
}

// What nghttp2 is told for one session. Without a pool everything comes from malloc.
struct lk_session_memory {
  struct lk_session_pool *pool;
  void *buffer;
};
static inline struct lk_session_memory lk_session_memory_begin(struct lk_session_pool *pool) {
  struct lk_session_memory memory = {pool, NULL};
  if (pool) pool->sessions++;
  return memory;
}
// After the last session a thread holds no block: what is not given back then is lost, and a test sees it.
static inline void lk_session_memory_end(struct lk_session_memory *memory) {
  if (memory->pool && --memory->pool->sessions == 0) lk_blocks_free(&memory->pool->blocks);
}
static inline void *lk_session_malloc(size_t bytes, void *context) {
  struct lk_session_memory *memory = (struct lk_session_memory *)context;
  struct lk_session_pool *pool = memory->pool;
  if (pool && !memory->buffer && bytes > LK_FRAME_BYTES_MIN && bytes <= pool->buffers->buffer_bytes) {
    memory->buffer = lk_frame_buffers_take(pool->buffers);
    if (memory->buffer) return memory->buffer;
  }
  return lk_block_take(pool ? &pool->blocks : NULL, bytes);
}
static inline void lk_session_free(void *pointer, void *context) {
  struct lk_session_memory *memory = (struct lk_session_memory *)context;
  if (!pointer) return;
  if (pointer != memory->buffer) return lk_block_give(memory->pool ? &memory->pool->blocks : NULL, pointer);
  lk_frame_buffers_give(memory->pool->buffers, pointer);
  memory->buffer = NULL;
}
static inline void *lk_session_calloc(size_t count, size_t bytes, void *context) {
  size_t all;
  if (__builtin_mul_overflow(count, bytes, &all)) return NULL;
  void *pointer = lk_session_malloc(all, context);
  if (pointer) memset(pointer, 0, all);
  return pointer;
}
static inline void *lk_session_realloc(void *pointer, size_t bytes, void *context) {
  struct lk_session_memory *memory = (struct lk_session_memory *)context;
  // This is how nghttp2 asks for a frame's buffer in the first place.
  if (!pointer) return lk_session_malloc(bytes, context);
  int is_buffer = pointer == memory->buffer;
  size_t room = is_buffer ? memory->pool->buffers->buffer_bytes : lk_block_bytes(pointer);
  if (!is_buffer && bytes <= room) return pointer;
  void *moved = lk_block_take(memory->pool ? &memory->pool->blocks : NULL, bytes);
  if (!moved) return NULL;
  memcpy(moved, pointer, bytes < room ? bytes : room);
  lk_session_free(pointer, context);
  return moved;
}
static inline int lk_session_new(nghttp2_session **session, const nghttp2_session_callbacks *callbacks, void *context,
                                 const nghttp2_option *option, struct lk_session_memory *memory) {
  nghttp2_mem functions = {memory, lk_session_malloc, lk_session_free, lk_session_calloc, lk_session_realloc};
  return nghttp2_session_server_new3(session, callbacks, context, option, &functions);
}
