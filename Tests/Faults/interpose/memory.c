// The allocator for the C libraries. A block of a library has a mark at its end that identifies the library, so that it
// counts as freed no matter who frees it. The libraries free through tail calls, whose return address is that of their
// caller.
#define _GNU_SOURCE
#include "interpose.h"
#include <errno.h>
#include <malloc.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

#define MARK_BYTES sizeof(uint64_t)
static const uint64_t magic = 0x9e3779b97f4a7c15u;

static char *mark_place(void *block) { return (char *)block + malloc_usable_size(block) - MARK_BYTES; }

// Blocks are aligned to 16 bytes, so the low bits of the address have room for the library.
static uint64_t mark_of(void *block, enum point_name library) { return ((uint64_t)(uintptr_t)block ^ magic) + library; }

static void *marked(void *block, enum point_name library) {
  if (!block) return NULL;
  uint64_t mark = mark_of(block, library);
  memcpy(mark_place(block), &mark, MARK_BYTES);
  atomic_fetch_add(&points[library].live, 1);
  return block;
}

// Returns the block's library, and removes the mark.
static enum point_name unmark(void *block) {
  uint64_t mark, none = 0;
  if (!points || !block) return NO_POINT;
  memcpy(&mark, mark_place(block), MARK_BYTES);
  uint64_t library = mark - mark_of(block, 0);
  if (library > MEMORY_LAST) return NO_POINT;
  memcpy(mark_place(block), &none, MARK_BYTES);
  atomic_fetch_sub(&points[library].live, 1);
  return (enum point_name)library;
}

static enum point_name asking(const void *address) {
  enum point_name library = points ? library_of(address) : NO_POINT;
  return library <= MEMORY_LAST ? library : NO_POINT;
}

void *malloc(size_t bytes) {
  enum point_name library = asking(__builtin_return_address(0));
  if (library == NO_POINT) return __libc_malloc(bytes);
  return fails(library) ? NULL : marked(__libc_malloc(bytes + MARK_BYTES), library);
}

void *calloc(size_t count, size_t bytes) {
  enum point_name library = asking(__builtin_return_address(0));
  size_t all;
  if (library == NO_POINT || __builtin_mul_overflow(count, bytes, &all)) return __libc_calloc(count, bytes);
  return fails(library) ? NULL : marked(__libc_calloc(1, all + MARK_BYTES), library);
}

void *realloc(void *block, size_t bytes) {
  enum point_name library = asking(__builtin_return_address(0));
  if (library != NO_POINT && bytes && fails(library)) return NULL;
  enum point_name before = unmark(block);
  // A tail call may grow a block of a library and looks like a call from the program.
  if (library == NO_POINT) library = before;
  if (library == NO_POINT || !bytes) return __libc_realloc(block, bytes);
  void *grown = __libc_realloc(block, bytes + MARK_BYTES);
  if (!grown && before != NO_POINT) marked(block, before);
  return marked(grown, library);
}

void free(void *block) {
  unmark(block);
  __libc_free(block);
}
