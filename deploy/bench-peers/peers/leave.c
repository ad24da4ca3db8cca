// Preloaded into a server under profile: latchkeyd ends with _exit, which writes no profile, while exit does.
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int leaving;

void _exit(int status) {
  if (!__atomic_exchange_n(&leaving, 1, __ATOMIC_SEQ_CST)) exit(status);
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}
