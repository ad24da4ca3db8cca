// Informs the thread sanitizer of the half of Synchronization.Mutex that it does not see. Without contention, an atomic
// operation in the program's own code locks and unlocks a Mutex, which the sanitizer sees. With contention, the kernel
// passes it on (futex(2), FUTEX_LOCK_PI), called from Swift's library, which the sanitizer does not see. So a write in
// one `withLock` and a read in the next would look like a race.
//
// deploy/sanitize preloads this object, in front of libswiftSynchronization.so.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Functions of the sanitizer (tsan_interface.h), in the program.
void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

// The mangled names of Synchronization._MutexHandle._lockSlow(UInt32) and ._unlockSlow().
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

static void *next(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) {
    fprintf(stderr, "libswiftSynchronization.so has no %s\n", name);
    abort();
  }
  return found;
}

SWIFT void lock_slow(uint32_t thread, SELF void *handle) __asm__(LOCK);
SWIFT void lock_slow(uint32_t thread, SELF void *handle) {
  SWIFT void (*lock)(uint32_t, SELF void *) = (SWIFT void (*)(uint32_t, SELF void *))next(LOCK);
  lock(thread, handle);
  __tsan_acquire(handle);
}

SWIFT void unlock_slow(SELF void *handle) __asm__(UNLOCK);
SWIFT void unlock_slow(SELF void *handle) {
  SWIFT void (*unlock)(SELF void *) = (SWIFT void (*)(SELF void *))next(UNLOCK);
  __tsan_release(handle);
  unlock(handle);
}
