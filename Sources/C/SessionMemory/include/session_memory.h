// A memory pool for nghttp2. The sessions of one thread allocate from it (`nghttp2_mem`).
//
// Small blocks stay in free lists. A large block starts on untouched pages, so that only what nghttp2 writes becomes
// resident. A session has 16 KiB for the frames that it sends; an idle session has used only the first page. malloc
// would return memory that other code has touched, which costs 20 KiB more for each idle connection (Tests/Counts).
#pragma once
#include <nghttp2/nghttp2.h>
#include <stddef.h>

struct lk_pool;

// Returns NULL if out of memory.
struct lk_pool *lk_pool_new(void);
// Call it only after the last session of the pool has ended.
void lk_pool_free(struct lk_pool *pool);

// Returns the functions for nghttp2_session_server_new3. Without a pool they are those of malloc.
nghttp2_mem lk_pool_functions(struct lk_pool *pool);

// Numbers of blocks: blocks that sessions hold, spare blocks of this small size, and spare large blocks.
size_t lk_pool_live(const struct lk_pool *pool);
size_t lk_pool_spare_blocks(const struct lk_pool *pool, size_t bytes);
size_t lk_pool_spare_runs(const struct lk_pool *pool);
