// A shared object between latchkeyd and the layers below it that can fail: allocations of the C libraries, and system
// calls. The tests preload it (LD_PRELOAD) into the server, which needs no hook for it and is the same program that
// users run.
//
// Every kind of failure is a `point`. A test arms one through a file that both sides map (LATCHKEY_FAULTS): from the
// n-th passage on, so many passages fail. The object counts all passages, armed or not, so that a test knows the number
// of possible failures.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The order is that of `POINTS` in points.py.
enum point_name {
  MEMORY_NGHTTP2, MEMORY_OPENSSL, MEMORY_SQLITE, MEMORY_SODIUM, MEMORY_TEXT, MEMORY_CURL,
  MEMORY_FIDO2, MEMORY_LAST = MEMORY_FIDO2,
  SOCKET_ACCEPT, SOCKET_READ, SOCKET_WRITE, EPOLL_MAKE, EPOLL_WAIT, EPOLL_CONTROL, EVENTFD_MAKE, EVENTFD_READ,
  STORE_OPEN, STORE_READ, STORE_WRITE, STORE_SYNC, STORE_TRUNCATE, STORE_LOCK, STORE_MAP,
  POINTS, NO_POINT = POINTS,
  // Not a point: marks calls from the server's own code. Swift's runtime has event loops of its own.
  PROGRAM = POINTS + 1
};

// An `error` with which the call never returns.
enum { NO_RETURN = -1 };

struct point {
  // The test writes these. `from` is the first passage that fails, counted from 1; 0 means none.
  _Atomic uint64_t from;
  _Atomic uint64_t count;
  _Atomic int64_t error;
  // Cuts a transfer short instead: half of the requested bytes are moved.
  _Atomic uint64_t is_short;
  // The object writes these.
  _Atomic uint64_t passages;
  _Atomic uint64_t failures;
  // Allocations that have not been freed yet.
  _Atomic int64_t live;
};

// NULL until the constructor has run, and permanently without a test.
extern struct point *points;

// The library of the code at this address, as its memory point; or PROGRAM, or NO_POINT.
enum point_name library_of(const void *address);

// Counts a passage. Returns true if it must fail, with errno set.
bool fails(enum point_name name);


// Records changes of the database's files and outgoing answers, in one order for all threads. The test simulates power
// cuts with them. Records nothing unless LATCHKEY_TRACE names a file.
enum record_kind { RECORD_WRITE, RECORD_TRUNCATE, RECORD_SYNC, RECORD_SENT, RECORD_UNLINK };

// The caller changes the file between these two; `descriptor` identifies the file.
void begin_record(void);
void end_record(enum record_kind kind, int descriptor, const void *bytes, uint64_t count, uint64_t at);
void end_unlink_record(const char *path);
