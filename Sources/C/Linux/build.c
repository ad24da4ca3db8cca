#include "linux_shim.h"

// deploy/build writes this file, outside of version control, if it knows the commit.
#if __has_include("commit.h")
#include "commit.h"
#else
#define LATCHKEY_COMMIT ""
#endif

const char *lk_commit(void) { return LATCHKEY_COMMIT; }
