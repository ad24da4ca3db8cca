// A memory pool for nghttp2: the sessions of one thread take their memory from it (`nghttp2_mem`). Small blocks stay in
// free lists. A large block starts on pages that nobody has written, so that only what nghttp2 writes becomes resident:
// of the 16 KiB in which a session sends its frames, an idle session has used the first page. malloc would hand out
// memory that other code has touched, and with it 20 KiB more for each idle connection (Tests/Counts).
#pragma once
#include <nghttp2/nghttp2.h>
#include <stddef.h>

struct lk_pool;

// NULL: no memory.
struct lk_pool *lk_pool_new(void);
// Only after the last session of the pool.
void lk_pool_free(struct lk_pool *pool);

// For nghttp2_session_server_new3. Without a pool the functions are those of malloc.
nghttp2_mem lk_pool_functions(struct lk_pool *pool);

// Blocks that sessions hold, and blocks that no session holds: of this small size, and large ones.
size_t lk_pool_live(const struct lk_pool *pool);
size_t lk_pool_spare_blocks(const struct lk_pool *pool, size_t bytes);
size_t lk_pool_spare_runs(const struct lk_pool *pool);
