#define _GNU_SOURCE
#include "include/memory.h"
#include <dlfcn.h>
#include <sodium.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// Then `mmap` below would be another function, and call itself.
#if defined(__USE_FILE_OFFSET64) || defined(mmap64)
#error "mmap and mmap64 must be two names of the C library"
#endif

static const size_t HUGE_PAGE_BYTES = 2 << 20;

static _Thread_local struct {
  char *block;
  size_t bytes, bytes_kept_max;
  bool is_hashing, is_lent, was_refused;
} memory;

static size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

static void unmap(void *address, size_t bytes) {
  if (bytes > 0) syscall(SYS_munmap, address, bytes);
}

static void give_back(void) {
  unmap(memory.block, memory.bytes);
  memory.block = NULL;
  memory.bytes = 0;
}

static bool take(size_t bytes) {
  size_t whole = round_up(bytes, HUGE_PAGE_BYTES);
  char *mapped = mmap64(NULL, whole + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return false;
  // Only a range that begins and ends with a huge page is one of huge pages as a whole.
  char *block = mapped + (round_up((uintptr_t)mapped, HUGE_PAGE_BYTES) - (uintptr_t)mapped);
  unmap(mapped, (size_t)(block - mapped));
  unmap(block + whole, (size_t)(mapped + HUGE_PAGE_BYTES - block));
  // What a hash leaves behind helps to guess its password.
  madvise(block, whole, MADV_DONTDUMP);
  // A kernel without huge pages, or with none to spare, has small ones, and gives them sooner if it is asked for all.
  madvise(block, whole, MADV_HUGEPAGE);
  madvise(block, whole, MADV_POPULATE_WRITE);
  memory.block = block;
  memory.bytes = whole;
  return true;
}

void lk_hash_memory_begin(void) {
  memory.is_hashing = true;
  memory.was_refused = false;
}

bool lk_hash_memory_end(void) {
  memory.is_hashing = false;
  if (memory.bytes > memory.bytes_kept_max) give_back();
  return !memory.was_refused;
}

void lk_hash_memory_keep(size_t bytes) {
  // A block is of whole huge pages.
  memory.bytes_kept_max = round_up(bytes, HUGE_PAGE_BYTES);
  if (memory.bytes > memory.bytes_kept_max) give_back();
}

size_t lk_hash_memory_kept(void) { return memory.bytes; }

// What libsodium calls while it hashes may map as well: an allocator that is loaded before the C library's does.
static bool is_of_sodium(const void *caller) {
  Dl_info its, sodiums;
  return dladdr(caller, &its) && dladdr((const void *)(uintptr_t)sodium_init, &sodiums)
      && its.dli_fbase == sodiums.dli_fbase;
}

static void *lend(size_t bytes) {
  if (memory.bytes < bytes) {
    give_back();
    if (!take(bytes)) return MAP_FAILED;
  }
  memory.is_lent = true;
  return memory.block;
}

// In place of the C library's in the whole program, its libraries included. The C library's own calls do not come here.
void *mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t at) {
  bool lends = memory.is_hashing && !memory.is_lent && bytes >= HUGE_PAGE_BYTES
      && is_of_sodium(__builtin_return_address(0));
  void *mapped = lends ? lend(bytes) : mmap64(address, bytes, protection, flags, descriptor, at);
  if (mapped == MAP_FAILED) memory.was_refused = true;
  return mapped;
}

int munmap(void *address, size_t bytes) {
  if (!memory.is_lent || address != memory.block) return (int)syscall(SYS_munmap, address, bytes);
  memory.is_lent = false;
  return 0;
}
