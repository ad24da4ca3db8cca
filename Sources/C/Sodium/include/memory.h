// The memory that libsodium hashes in. It maps 19 MiB for each hash and unmaps them again, which the kernel gives and
// takes page by page of 4 KiB: two fifths of a hash's time (deploy/bench, SignIn with a password). Fresh huge pages are
// an eighth, and kept ones nothing. libsodium takes no memory from its caller, so the program has an `mmap` and a
// `munmap` of its own (memory.c). They differ from the C library's for libsodium alone, and only between these two
// calls.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// From here on what libsodium maps on this thread, of 2 MiB and more, is of huge pages, and is the block that the
// thread keeps where that is large enough.
void lk_hash_memory_begin(void);
// False: the kernel had no memory for it.
bool lk_hash_memory_end(void);

// Of this thread: a block of up to `bytes` stays with it between two hashes, as the last one left it. 0: none does, and
// one that is kept goes back, as it must before the thread ends.
void lk_hash_memory_keep(size_t bytes);
// What this thread keeps at the moment.
size_t lk_hash_memory_kept(void);
