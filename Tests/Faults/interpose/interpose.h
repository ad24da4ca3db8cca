// A shared object that stands between latchkeyd and what can fail below it: allocations of the C libraries, and system
// calls. It is preloaded (LD_PRELOAD) into the server under test, which needs no hook of its own for that and is the
// very program that people run.
//
// Every kind of failure is a `point`. A test arms one through a file that both sides map (LATCHKEY_FAULTS): from the
// n-th passage on, so many passages fail. Passages are counted whether armed or not, so that a test knows how far n
// goes.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The order is that of `POINTS` in points.py.
enum point_name {
  MEMORY_NGHTTP2, MEMORY_OPENSSL, MEMORY_SQLITE, MEMORY_SODIUM, MEMORY_TEXT, MEMORY_CURL,
  SOCKET_ACCEPT, SOCKET_READ, SOCKET_WRITE, EPOLL_MAKE, EPOLL_WAIT, EPOLL_CONTROL, EVENTFD_MAKE, EVENTFD_READ,
  STORE_OPEN, STORE_READ, STORE_WRITE, STORE_SYNC, STORE_TRUNCATE, STORE_LOCK, STORE_MAP,
  POINTS, NO_POINT = POINTS,
  // Not a point: whose code calls, where that is the server's own. Swift's runtime has reactors of its own.
  PROGRAM = POINTS + 1
};

struct point {
  // Written by the test. `from` is the first passage that fails, counted from 1; 0: none does.
  _Atomic uint64_t from;
  _Atomic uint64_t count;
  _Atomic int64_t error;
  // A transfer is cut short instead: half of what was asked for is moved.
  _Atomic uint64_t is_short;
  // Written by the object.
  _Atomic uint64_t passages;
  _Atomic uint64_t failures;
  // Allocations that were not given back yet.
  _Atomic int64_t live;
};

// NULL until the constructor has run, and for good where no test listens.
extern struct point *points;

// Which library the code at this address belongs to, as its memory point; or PROGRAM, or NO_POINT.
enum point_name library_of(const void *address);

// Counts a passage; true: it is to fail, with errno set.
bool fails(enum point_name name);


// What is done to the files of the database, and when answers leave, in one order for all threads: the test makes a
// power cut of it. Nothing is written down unless LATCHKEY_TRACE names a file.
enum record_kind { RECORD_WRITE, RECORD_TRUNCATE, RECORD_SYNC, RECORD_SENT, RECORD_UNLINK };

// Between these two the caller changes the file; `descriptor` says which.
void begin_record(void);
void end_record(enum record_kind kind, int descriptor, const void *bytes, uint64_t count, uint64_t at);
void end_unlink_record(const char *path);
