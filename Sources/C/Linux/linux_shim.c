#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
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

void lk_be_prompt(void) {
  // Another policy is the operator's choice: keep it.
  if (sched_getscheduler(0) != SCHED_OTHER) return;
  // The argument of sched_setattr(2), for which the C library has no wrapper. `runtime` is the time slice in
  // nanoseconds, the shortest that Linux allows.
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {.size = sizeof attributes, .policy = SCHED_OTHER, .runtime = 100000};
  attributes.nice = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

// proc(5): /proc/self/statm counts pages, and its second number is the resident size.
static int64_t resident_bytes(void) {
  long long size, resident;
  FILE *file = fopen("/proc/self/statm", "re");
  if (!file) return -1;
  int found = fscanf(file, "%lld %lld", &size, &resident);
  fclose(file);
  return found == 2 ? resident * sysconf(_SC_PAGESIZE) : -1;
}

static int64_t open_descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  if (!folder) return -1;
  int64_t count = 0;
  for (struct dirent *entry; (entry = readdir(folder));) count += entry->d_name[0] != '.';
  closedir(folder);
  // One of them is the listing itself.
  return count - 1;
}

struct lk_usage lk_process_usage(void) {
  struct lk_usage usage = {resident_bytes(), -1, open_descriptors(), -1};
  struct timespec cpu;
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0) {
    usage.cpu_nanos = (int64_t)cpu.tv_sec * 1000000000 + cpu.tv_nsec;
  }
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) usage.descriptors_max = (int64_t)limit.rlim_cur;
  return usage;
}
