#include "linux_shim.h"
#include <sys/prctl.h>

int lk_forbid_dumps(void) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  return prctl(PR_SET_DUMPABLE, 0) < 0 ? -errno : 0;
}
