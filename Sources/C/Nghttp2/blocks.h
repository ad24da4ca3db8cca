// The small blocks that nghttp2 takes and gives back with each call: its stream, the frames of an answer, the fields of
// a request. Kept in lists by size, so that a call costs a few loads and stores where malloc would take its long way:
// with hundreds of calls in flight there are more of them than its own fast lists hold.
#pragma once
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

enum {
  LK_BLOCK_STEP = 16,
  LK_BLOCK_BYTES_MAX = 256,
  LK_BLOCK_SIZES = LK_BLOCK_BYTES_MAX / LK_BLOCK_STEP,
  // Of one size; what is given back beyond it goes to free, so that a busy hour is not held for good.
  LK_BLOCKS_SPARE_MAX = 4096,
};

// What a block is while nobody has it.
struct lk_block { struct lk_block *next; };

struct lk_blocks {
  struct lk_block *spare[LK_BLOCK_SIZES];
  int spare_count[LK_BLOCK_SIZES];
};

// The room that is certain. malloc knows it, so that a block needs no head of its own.
static inline size_t lk_block_bytes(void *pointer) {
  return malloc_usable_size(pointer) / LK_BLOCK_STEP * LK_BLOCK_STEP;
}

static inline void *lk_block_take(struct lk_blocks *blocks, size_t bytes) {
  // malloc(0) has an address of its own, too.
  size_t size = bytes ? (bytes - 1) / LK_BLOCK_STEP : 0;
  if (size >= LK_BLOCK_SIZES) return malloc(bytes);
  if (!blocks || !blocks->spare[size]) return malloc((size + 1) * LK_BLOCK_STEP);
  struct lk_block *block = blocks->spare[size];
  blocks->spare[size] = block->next;
  blocks->spare_count[size]--;
  return block;
}

static inline void lk_block_give(struct lk_blocks *blocks, void *pointer) {
  size_t size = lk_block_bytes(pointer) / LK_BLOCK_STEP - 1;
  if (!blocks || size >= LK_BLOCK_SIZES || blocks->spare_count[size] >= LK_BLOCKS_SPARE_MAX) return free(pointer);
  struct lk_block *block = (struct lk_block *)pointer;
  block->next = blocks->spare[size];
  blocks->spare[size] = block;
  blocks->spare_count[size]++;
}

static inline void lk_blocks_free(struct lk_blocks *blocks) {
  for (int size = 0; size < LK_BLOCK_SIZES; size++) {
    while (blocks->spare[size]) {
      struct lk_block *block = blocks->spare[size];
      blocks->spare[size] = block->next;
      free(block);
    }
    blocks->spare_count[size] = 0;
  }
}
