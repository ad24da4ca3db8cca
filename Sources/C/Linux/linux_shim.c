#define _GNU_SOURCE
#include <sched.h>
#include "linux_shim.h"
#include <sys/prctl.h>

int lk_forbid_dumps(void) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  return prctl(PR_SET_DUMPABLE, 0) < 0 ? -errno : 0;
}

int lk_processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) < 0 ? 1 : CPU_COUNT(&set);
}
