// System calls, each with a point for its caller: SQLite on its files, libssl on sockets, the reactors.
#define _GNU_SOURCE
#include "interpose.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

// The C library's own function of this name, looked up at the first call.
#define REAL(name) \
  static __typeof__(name) *real; \
  if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define CALLER library_of(__builtin_return_address(0))
#define EVENTFD_BYTES 8

// The rest of a transfer that is cut short, or -1 with errno set.
static ssize_t cut(enum point_name name, size_t *bytes) {
  if (!fails(name)) return 0;
  if (!atomic_load(&points[name].is_short) || *bytes < 2) return -1;
  *bytes /= 2;
  return 0;
}

int accept4(int listener, struct sockaddr *address, socklen_t *bytes, int flags) {
  REAL(accept4);
  return CALLER == PROGRAM && fails(SOCKET_ACCEPT) ? -1 : real(listener, address, bytes, flags);
}

ssize_t read(int descriptor, void *into, size_t bytes) {
  REAL(read);
  enum point_name library = CALLER;
  if (library == MEMORY_OPENSSL && cut(SOCKET_READ, &bytes) < 0) return -1;
  if (library == PROGRAM && bytes == EVENTFD_BYTES && fails(EVENTFD_READ)) return -1;
  return real(descriptor, into, bytes);
}

ssize_t write(int descriptor, const void *from, size_t bytes) {
  REAL(write);
  bool is_answer = CALLER == MEMORY_OPENSSL;
  if (is_answer && cut(SOCKET_WRITE, &bytes) < 0) return -1;
  if (is_answer) {
    // Recorded before the bytes leave: a client that reads them must find the record.
    begin_record();
    end_record(RECORD_SENT, descriptor, NULL, 0, 0);
  }
  return real(descriptor, from, bytes);
}

int epoll_create1(int flags) {
  REAL(epoll_create1);
  return CALLER == PROGRAM && fails(EPOLL_MAKE) ? -1 : real(flags);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout) {
  REAL(epoll_wait);
  return CALLER == PROGRAM && fails(EPOLL_WAIT) ? -1 : real(epoll, events, most, timeout);
}

int epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event) {
  REAL(epoll_ctl);
  return CALLER == PROGRAM && fails(EPOLL_CONTROL) ? -1 : real(epoll, operation, descriptor, event);
}

int eventfd(unsigned int first, int flags) {
  REAL(eventfd);
  return CALLER == PROGRAM && fails(EVENTFD_MAKE) ? -1 : real(first, flags);
}

int eventfd_read(int descriptor, eventfd_t *value) {
  REAL(eventfd_read);
  return CALLER == PROGRAM && fails(EVENTFD_READ) ? -1 : real(descriptor, value);
}

// Only SQLite calls these functions, on the database's files.

int open64(const char *path, int flags, ...) {
  REAL(open64);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return CALLER == MEMORY_SQLITE && fails(STORE_OPEN) ? -1 : real(path, flags, mode);
}

ssize_t pread64(int descriptor, void *into, size_t bytes, off64_t at) {
  REAL(pread64);
  if (CALLER == MEMORY_SQLITE && cut(STORE_READ, &bytes) < 0) return -1;
  return real(descriptor, into, bytes, at);
}

ssize_t pwrite64(int descriptor, const void *from, size_t bytes, off64_t at) {
  REAL(pwrite64);
  if (CALLER == MEMORY_SQLITE && cut(STORE_WRITE, &bytes) < 0) return -1;
  begin_record();
  ssize_t written = real(descriptor, from, bytes, at);
  end_record(RECORD_WRITE, descriptor, from, written < 0 ? 0 : (uint64_t)written, (uint64_t)at);
  return written;
}

// The server itself calls this one, to write the lock file.
ssize_t pwrite(int descriptor, const void *from, size_t bytes, off_t at) {
  REAL(pwrite);
  begin_record();
  ssize_t written = real(descriptor, from, bytes, at);
  end_record(RECORD_WRITE, descriptor, from, written < 0 ? 0 : (uint64_t)written, (uint64_t)at);
  return written;
}

int fdatasync(int descriptor) {
  REAL(fdatasync);
  if (CALLER == MEMORY_SQLITE && fails(STORE_SYNC)) return -1;
  begin_record();
  int result = real(descriptor);
  end_record(RECORD_SYNC, descriptor, NULL, 0, 0);
  return result;
}

int unlink(const char *path) {
  REAL(unlink);
  if (CALLER != MEMORY_SQLITE) return real(path);
  begin_record();
  int result = real(path);
  end_unlink_record(path);
  return result;
}

int ftruncate64(int descriptor, off64_t bytes) {
  REAL(ftruncate64);
  if (CALLER == MEMORY_SQLITE && fails(STORE_TRUNCATE)) return -1;
  begin_record();
  int result = real(descriptor, bytes);
  end_record(RECORD_TRUNCATE, descriptor, NULL, 0, (uint64_t)bytes);
  return result;
}

int fcntl64(int descriptor, int command, ...) {
  REAL(fcntl64);
  va_list arguments;
  va_start(arguments, command);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  // Releasing a lock never fails.
  bool takes = (command == F_SETLK || command == F_SETLKW) && ((struct flock *)argument)->l_type != F_UNLCK;
  return takes && CALLER == MEMORY_SQLITE && fails(STORE_LOCK) ? -1 : real(descriptor, command, argument);
}

enum { HASH_BYTES_MIN = 1 << 20 };

// libsodium maps the memory that it hashes in, and SQLite maps its files.
static bool mapping_fails(enum point_name library, int descriptor, size_t bytes) {
  if (library == MEMORY_SQLITE) return descriptor >= 0 && fails(STORE_MAP);
  return library == MEMORY_SODIUM && descriptor < 0 && bytes >= HASH_BYTES_MIN && fails(MEMORY_SODIUM);
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int descriptor, off64_t at) {
  REAL(mmap64);
  if (mapping_fails(CALLER, descriptor, bytes)) return MAP_FAILED;
  return real(address, bytes, protection, flags, descriptor, at);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t at) {
  REAL(mmap);
  if (mapping_fails(CALLER, descriptor, bytes)) return MAP_FAILED;
  return real(address, bytes, protection, flags, descriptor, at);
}
