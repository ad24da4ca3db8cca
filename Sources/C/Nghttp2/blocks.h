// The small blocks that nghttp2 takes and gives back with each call: its stream, the frames of an answer, the fields of
// a request. Kept in lists by size, so that a call costs a few loads and stores where malloc would take its long way:
// with hundreds of calls in flight there are more of them than its own fast lists hold.
#pragma once
#include <stddef.h>
#include <stdlib.h>

enum {
  LK_BLOCK_STEP = 64,
  LK_BLOCK_BYTES_MAX = 256,
  LK_BLOCK_SIZES = LK_BLOCK_BYTES_MAX / LK_BLOCK_STEP,
  // Of one size; what is given back beyond it goes to free, so that a busy hour is not held for good.
  LK_BLOCKS_SPARE_MAX = 4096,
};

// Before each block; its second half is the block's own while it is spare.
union lk_block {
  struct { size_t bytes; union lk_block *next; } head;
  max_align_t alignment;
};

struct lk_blocks {
  union lk_block *spare[LK_BLOCK_SIZES];
  int spare_count[LK_BLOCK_SIZES];
};

static inline void *lk_block_take(struct lk_blocks *blocks, size_t bytes) {
  if (bytes > (size_t)-1 - LK_BLOCK_STEP - sizeof(union lk_block)) return NULL;
  // No block is without room: malloc(0) has an address of its own, too.
  size_t size = bytes ? (bytes - 1) / LK_BLOCK_STEP : 0;
  union lk_block *block = NULL;
  if (blocks && size < LK_BLOCK_SIZES && blocks->spare[size]) {
    block = blocks->spare[size];
    blocks->spare[size] = block->head.next;
    blocks->spare_count[size]--;
    return block + 1;
  }
  size_t room = size < LK_BLOCK_SIZES ? (size + 1) * LK_BLOCK_STEP : bytes;
  block = (union lk_block *)malloc(sizeof *block + room);
  if (!block) return NULL;
  block->head.bytes = room;
  return block + 1;
}

static inline size_t lk_block_bytes(void *pointer) { return ((union lk_block *)pointer - 1)->head.bytes; }

static inline void lk_block_give(struct lk_blocks *blocks, void *pointer) {
  union lk_block *block = (union lk_block *)pointer - 1;
  size_t size = block->head.bytes / LK_BLOCK_STEP - 1;
  if (!blocks || block->head.bytes > LK_BLOCK_BYTES_MAX || blocks->spare_count[size] >= LK_BLOCKS_SPARE_MAX) {
    free(block);
    return;
  }
  block->head.next = blocks->spare[size];
  blocks->spare[size] = block;
  blocks->spare_count[size]++;
}

static inline void lk_blocks_free(struct lk_blocks *blocks) {
  for (int size = 0; size < LK_BLOCK_SIZES; size++) {
    while (blocks->spare[size]) {
      union lk_block *block = blocks->spare[size];
      blocks->spare[size] = block->head.next;
      free(block);
    }
    blocks->spare_count[size] = 0;
  }
}
