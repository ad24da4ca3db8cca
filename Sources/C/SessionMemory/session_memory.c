#define _GNU_SOURCE
#include "include/session_memory.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  STEP_BYTES = 16,
  SMALL_BYTES_MAX = 256,
  SIZES = SMALL_BYTES_MAX / STEP_BYTES,
  // Maximum number of spare blocks of one size. Further blocks go to free, so that memory use falls after a busy hour.
  SPARE_BLOCKS_MAX = 4096,
  // A block of this size or more, with its head, needs its own page anyway.
  LARGE_BYTES_MIN = 4096,
  RUN_BYTES = 20 * 1024,
  RUNS_PER_SLAB = 64,
  // Runs that stay resident after their session, so that a new connection waits for no page (deploy/bench, handshakes).
  WARM_RUNS_MAX = 64,
};

// Precedes each block. It has 16 bytes, so that the block has the alignment of malloc.
struct head {
  size_t bytes;
  struct head *next;
};

static const size_t RUN_CAPACITY = RUN_BYTES - sizeof(struct head);

struct lk_pool {
  struct head *spare[SIZES];
  size_t spare_count[SIZES], live;
  // `cold` runs are zero and not resident. The list has room for every run of every slab.
  void **slabs, **cold, *warm[WARM_RUNS_MAX];
  size_t slab_count, cold_count, warm_count;
};

static size_t size_index(size_t bytes) { return bytes ? (bytes - 1) / STEP_BYTES : 0; }

static void free_spare_blocks(struct lk_pool *pool) {
  for (size_t size = 0; size < SIZES; size++) {
    while (pool->spare[size]) {
      struct head *block = pool->spare[size];
      pool->spare[size] = block->next;
      free(block);
    }
    pool->spare_count[size] = 0;
  }
}

struct lk_pool *lk_pool_new(void) { return calloc(1, sizeof(struct lk_pool)); }

void lk_pool_free(struct lk_pool *pool) {
  free_spare_blocks(pool);
  for (size_t at = 0; at < pool->slab_count; at++) munmap(pool->slabs[at], (size_t)RUN_BYTES * RUNS_PER_SLAB);
  free(pool->slabs);
  free(pool->cold);
  free(pool);
}

// Not inlined: the lists live as long as the pool, and must not count as blocks of lk_pool_take.
__attribute__((noinline)) static bool add_slab(struct lk_pool *pool) {
  size_t count = pool->slab_count + 1, bytes = (size_t)RUN_BYTES * RUNS_PER_SLAB;
  void **slabs = realloc(pool->slabs, count * sizeof *slabs);
  if (!slabs) return false;
  pool->slabs = slabs;
  void **cold = realloc(pool->cold, count * RUNS_PER_SLAB * sizeof *cold);
  if (!cold) return false;
  pool->cold = cold;
  char *slab = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (slab == MAP_FAILED) return false;
  // Touching one byte of a huge page would make the whole page resident.
  madvise(slab, bytes, MADV_NOHUGEPAGE);
  slabs[pool->slab_count++] = slab;
  for (size_t at = RUNS_PER_SLAB; at > 0; at--) cold[pool->cold_count++] = slab + (at - 1) * RUN_BYTES;
  return true;
}

static struct head *take_run(struct lk_pool *pool, bool *is_zero) {
  if (pool->warm_count > 0) return pool->warm[--pool->warm_count];
  if (pool->cold_count == 0 && !add_slab(pool)) return NULL;
  *is_zero = true;
  return pool->cold[--pool->cold_count];
}

static void give_run(struct lk_pool *pool, void *run) {
  if (pool->warm_count < WARM_RUNS_MAX) {
    pool->warm[pool->warm_count++] = run;
    return;
  }
  if (madvise(run, RUN_BYTES, MADV_DONTNEED) != 0) memset(run, 0, RUN_BYTES);
  pool->cold[pool->cold_count++] = run;
}

// Not inlined: Tests/Faults finds this function in the program, makes its allocations fail, and counts them.
__attribute__((noinline)) static void *lk_pool_take(struct lk_pool *pool, size_t bytes, bool *is_zero) {
  struct head *block = NULL;
  size_t capacity = bytes;
  if (bytes <= SMALL_BYTES_MAX) {
    size_t size = size_index(bytes);
    capacity = (size + 1) * STEP_BYTES;
    block = pool->spare[size];
    if (block) {
      pool->spare[size] = block->next;
      pool->spare_count[size]--;
    }
  } else if (bytes >= LARGE_BYTES_MIN && bytes <= RUN_CAPACITY) {
    capacity = RUN_CAPACITY;
    block = take_run(pool, is_zero);
    if (!block) return NULL;
  }
  if (!block && bytes <= SIZE_MAX - sizeof *block) block = malloc(sizeof *block + capacity);
  if (!block) return NULL;
  block->bytes = capacity;
  pool->live++;
  return block + 1;
}

static void give(struct lk_pool *pool, void *pointer) {
  struct head *block = (struct head *)pointer - 1;
  size_t size = size_index(block->bytes);
  if (block->bytes == RUN_CAPACITY) {
    give_run(pool, block);
  } else if (size < SIZES && pool->spare_count[size] < SPARE_BLOCKS_MAX) {
    block->next = pool->spare[size];
    pool->spare[size] = block;
    pool->spare_count[size]++;
  } else {
    free(block);
  }
  // A thread without sessions holds no spare block, so that a leak test sees only blocks that are still in use.
  if (--pool->live == 0) free_spare_blocks(pool);
}

static void *pool_malloc(size_t bytes, void *context) {
  bool is_zero = false;
  return context ? lk_pool_take(context, bytes, &is_zero) : malloc(bytes);
}

static void pool_free(void *pointer, void *context) {
  if (!context) return free(pointer);
  if (pointer) give(context, pointer);
}

static void *pool_calloc(size_t count, size_t bytes, void *context) {
  if (!context) return calloc(count, bytes);
  size_t all;
  bool is_zero = false;
  if (__builtin_mul_overflow(count, bytes, &all)) return NULL;
  void *pointer = lk_pool_take(context, all, &is_zero);
  if (pointer && !is_zero) memset(pointer, 0, all);
  return pointer;
}

static void *pool_realloc(void *pointer, size_t bytes, void *context) {
  if (!context) return realloc(pointer, bytes);
  if (!pointer) return pool_malloc(bytes, context);
  size_t held = ((struct head *)pointer - 1)->bytes;
  if (bytes <= held) return pointer;
  void *moved = pool_malloc(bytes, context);
  if (!moved) return NULL;
  memcpy(moved, pointer, held);
  give(context, pointer);
  return moved;
}

nghttp2_mem lk_pool_functions(struct lk_pool *pool) {
  return (nghttp2_mem){pool, pool_malloc, pool_free, pool_calloc, pool_realloc};
}

size_t lk_pool_live(const struct lk_pool *pool) { return pool->live; }

size_t lk_pool_spare_blocks(const struct lk_pool *pool, size_t bytes) { return pool->spare_count[size_index(bytes)]; }

size_t lk_pool_spare_runs(const struct lk_pool *pool) { return pool->cold_count + pool->warm_count; }
