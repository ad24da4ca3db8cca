// Calls that Glibc's Swift overlay does not import, or imports without their errno. Each call returns -errno on
// failure, so that no code that the compiler inserts between the call and the reading of errno can change it.
#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <time.h>
#include <unistd.h>

static inline int lk_epoll_create(void) {
  int fd = epoll_create1(EPOLL_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

// `operation` is one of the three constants below. `flags` combines LK_READ and LK_WRITE. Events are level-triggered.
enum { LK_ADD = EPOLL_CTL_ADD, LK_CHANGE = EPOLL_CTL_MOD, LK_REMOVE = EPOLL_CTL_DEL };
enum { LK_READ = EPOLLIN, LK_WRITE = EPOLLOUT, LK_HANGUP = EPOLLHUP | EPOLLERR };
static inline int lk_epoll_control(int epoll, int operation, int fd, uint32_t flags, uint64_t ticket) {
  struct epoll_event event = {.events = flags, .data = {.u64 = ticket}};
  return epoll_ctl(epoll, operation, fd, &event) < 0 ? -errno : 0;
}

struct lk_ready { uint64_t ticket; uint32_t flags; };
static inline int lk_epoll_wait(int epoll, struct lk_ready *ready, int most, int timeout_millis) {
  struct epoll_event events[256];
  if (most > 256) most = 256;
  int count = epoll_wait(epoll, events, most, timeout_millis);
  if (count < 0) return errno == EINTR ? 0 : -errno;
  for (int i = 0; i < count; i++) ready[i] = (struct lk_ready){events[i].data.u64, events[i].events};
  return count;
}

static inline int lk_eventfd(void) {
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return fd < 0 ? -errno : fd;
}
static inline void lk_eventfd_raise(int fd) {
  uint64_t one = 1;
  ssize_t ignored = write(fd, &one, sizeof one);
  (void)ignored;
}
static inline void lk_eventfd_clear(int fd) {
  uint64_t value;
  ssize_t ignored = read(fd, &value, sizeof value);
  (void)ignored;
}

// Creates a descriptor that becomes readable at a time of the monotonic clock. Arming it again makes it unreadable
// until the new time.
static inline int lk_alarm(void) {
  int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  return fd < 0 ? -errno : fd;
}
static inline void lk_alarm_arm(int fd, int64_t at_nanos) {
  // All zeros would disarm it.
  if (at_nanos < 1) at_nanos = 1;
  struct itimerspec at = {.it_value = {at_nanos / 1000000000, at_nanos % 1000000000}};
  timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static inline int64_t lk_monotonic_nanos(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
static inline int64_t lk_monotonic_millis(void) { return lk_monotonic_nanos() / 1000000; }
static inline int64_t lk_wall_millis(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline _Bool lk_is_address(const char *text) {
  unsigned char bytes[sizeof(struct in6_addr)];
  return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}
static inline int lk_check_writable(const char *path) { return access(path, W_OK) == 0 ? 0 : -errno; }

// Converts an IPv4 or IPv6 literal. Returns the length of the socket address, or 0 if the text is neither.
static inline socklen_t lk_socket_address(const char *address, uint16_t port, struct sockaddr_storage *storage) {
  struct sockaddr_in *v4 = (struct sockaddr_in *)storage;
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)storage;
  memset(storage, 0, sizeof *storage);
  if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET; v4->sin_port = htons(port);
    return sizeof *v4;
  }
  if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6; v6->sin6_port = htons(port);
    return sizeof *v6;
  }
  return 0;
}

static inline _Bool lk_address_text(const struct sockaddr_storage *storage, char *text, int text_bytes) {
  const void *source = storage->ss_family == AF_INET ? (const void *)&((struct sockaddr_in *)storage)->sin_addr
                                                     : (const void *)&((struct sockaddr_in6 *)storage)->sin6_addr;
  return inet_ntop(storage->ss_family, source, text, (socklen_t)text_bytes) != NULL;
}

// Opens a non-blocking socket for the address family of an IPv4 or IPv6 literal, and converts the literal.
static inline int lk_socket(
    const char *address, uint16_t port, struct sockaddr_storage *storage, socklen_t *bytes) {
  *bytes = lk_socket_address(address, port, storage);
  if (*bytes == 0) return -EINVAL;
  int fd = socket(storage->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return fd < 0 ? -errno : fd;
}
static inline int lk_close_failed(int fd) {
  int error = errno;
  close(fd);
  return -error;
}

// Opens a listening socket on an IPv4 or IPv6 literal. Port 0 selects a free port. A socket on `::` takes IPv4
// connections too (ipv6(7)), unless `leaves_ipv4`: another socket can then have them on the same port.
static inline int lk_listen(const char *address, uint16_t port, int backlog, _Bool leaves_ipv4) {
  struct sockaddr_storage storage;
  socklen_t bytes;
  int fd = lk_socket(address, port, &storage, &bytes);
  if (fd < 0) return fd;
  int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (leaves_ipv4 && storage.ss_family == AF_INET6
      && IN6_IS_ADDR_UNSPECIFIED(&((struct sockaddr_in6 *)&storage)->sin6_addr)
      && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0) return lk_close_failed(fd);
  if (bind(fd, (struct sockaddr *)&storage, bytes) < 0 || listen(fd, backlog) < 0) return lk_close_failed(fd);
  return fd;
}
static inline int lk_local_port(int fd) {
  struct sockaddr_storage storage;
  socklen_t bytes = sizeof storage;
  if (getsockname(fd, (struct sockaddr *)&storage, &bytes) < 0) return -errno;
  return ntohs(storage.ss_family == AF_INET ? ((struct sockaddr_in *)&storage)->sin_port
                                            : ((struct sockaddr_in6 *)&storage)->sin6_port);
}

static inline _Bool lk_local_address(int fd, char *text, int text_bytes) {
  struct sockaddr_storage storage;
  socklen_t bytes = sizeof storage;
  return getsockname(fd, (struct sockaddr *)&storage, &bytes) == 0 && lk_address_text(&storage, text, text_bytes);
}

// Makes an inherited socket non-blocking and closed on exec. Returns -EINVAL unless it is a listening TCP socket.
static inline int lk_adopt_listener(int fd) {
  int kind = 0, listening = 0;
  socklen_t bytes = sizeof kind;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &bytes) < 0) return -errno;
  bytes = sizeof listening;
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &bytes) < 0) return -errno;
  struct sockaddr_storage storage;
  bytes = sizeof storage;
  if (getsockname(fd, (struct sockaddr *)&storage, &bytes) < 0) return -errno;
  if (kind != SOCK_STREAM || !listening) return -EINVAL;
  if (storage.ss_family != AF_INET && storage.ss_family != AF_INET6) return -EINVAL;
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) return -errno;
  return 0;
}

// The C library declares it only under _GNU_SOURCE, which a Swift importer of this header does not set.
extern int accept4(int, struct sockaddr *, socklen_t *, int);

// Accepts one connection, non-blocking and without Nagle's delay, because the server batches writes itself. Writes the
// peer's IP address as text. INET6_ADDRSTRLEN bytes suffice.
static inline int lk_accept(int listener, char *address, int address_bytes) {
  struct sockaddr_storage storage;
  socklen_t bytes = sizeof storage;
  int fd = accept4(listener, (struct sockaddr *)&storage, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return -errno;
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!lk_address_text(&storage, address, address_bytes)) address[0] = 0;
  return fd;
}

// Starts a connection to an IPv4 or IPv6 literal. The socket becomes writable when the connection succeeds or fails. If
// a peer disappears silently, the kernel detects it within LK_PEER_SILENT_SECONDS, even if there is nothing to send.
enum { LK_PEER_SILENT_SECONDS = 60 };
static inline int lk_connect(const char *address, uint16_t port) {
  struct sockaddr_storage storage;
  socklen_t bytes;
  int fd = lk_socket(address, port, &storage, &bytes);
  if (fd < 0) return fd;
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  int idle = LK_PEER_SILENT_SECONDS / 2, interval = LK_PEER_SILENT_SECONDS / 6, probes = 3;
  unsigned unacknowledged = LK_PEER_SILENT_SECONDS * 1000;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged, sizeof unacknowledged);
  if (connect(fd, (struct sockaddr *)&storage, bytes) < 0 && errno != EINPROGRESS) return lk_close_failed(fd);
  return fd;
}
// Returns the result of a connection attempt: 0 or -errno.
static inline int lk_connect_result(int fd) {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) < 0) return -errno;
  return -error;
}
// Writes the IP addresses of a host as text, each in LK_ADDRESS_BYTES. Returns their count, or a negative EAI_ number.
enum { LK_ADDRESS_BYTES = INET6_ADDRSTRLEN };
static inline int lk_resolve(const char *host, char *addresses, int most) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  struct addrinfo *list = NULL;
  int result = getaddrinfo(host, NULL, &hints, &list);
  if (result != 0) return result < 0 ? result : -result;
  int count = 0;
  for (struct addrinfo *entry = list; entry && count < most; entry = entry->ai_next) {
    char *address = addresses + count * LK_ADDRESS_BYTES;
    if (lk_address_text((struct sockaddr_storage *)entry->ai_addr, address, LK_ADDRESS_BYTES)) count++;
  }
  freeaddrinfo(list);
  return count;
}

static inline int lk_socketpair(int *left, int *right) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0) return -errno;
  *left = fds[0];
  *right = fds[1];
  return 0;
}

// Blocks. Continues after an interruption by a signal.
static inline int64_t lk_write(int fd, const void *bytes, size_t count) {
  ssize_t written;
  do written = write(fd, bytes, count); while (written < 0 && errno == EINTR);
  return written < 0 ? -errno : written;
}
static inline int lk_open_for_reading(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}
static inline int64_t lk_read(int fd, void *bytes, size_t most) {
  ssize_t count;
  do count = read(fd, bytes, most); while (count < 0 && errno == EINTR);
  return count < 0 ? -errno : count;
}
// Reads at an offset, which does not move the position of the descriptor.
static inline int64_t lk_read_at(int fd, void *bytes, size_t most, int64_t offset) {
  ssize_t count;
  do count = pread(fd, bytes, most, offset); while (count < 0 && errno == EINTR);
  return count < 0 ? -errno : count;
}
// What differs after a file was changed or replaced. `code` is 0, or -errno; -EINVAL: not a regular file.
struct lk_file_state {
  int64_t bytes;
  int64_t changed_nanos;
  uint64_t inode;
  int code;
};
static inline struct lk_file_state lk_state_of_file(int fd) {
  struct lk_file_state state = {0};
  struct stat entry;
  if (fstat(fd, &entry) < 0) {
    state.code = -errno;
  } else if (!S_ISREG(entry.st_mode)) {
    state.code = -EINVAL;
  } else {
    state.bytes = entry.st_size;
    state.changed_nanos = entry.st_mtim.tv_sec * INT64_C(1000000000) + entry.st_mtim.tv_nsec;
    state.inode = entry.st_ino;
  }
  return state;
}
// Writes to a socket. If the peer has closed the connection, this returns an error and raises no signal.
static inline int64_t lk_send(int fd, const void *bytes, size_t count) {
  ssize_t written;
  do written = send(fd, bytes, count, MSG_NOSIGNAL); while (written < 0 && errno == EINTR);
  return written < 0 ? -errno : written;
}

// Resource usage of the process. A value that is not available is negative.
struct lk_usage {
  int64_t resident_bytes;
  int64_t cpu_nanos;
  int64_t descriptors;
  int64_t descriptors_max;
};
struct lk_usage lk_process_usage(void);
// Creates a file that only its owner can read. Returns -EEXIST if the path exists, also as a symbolic link.
static inline int lk_create_private(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  return fd < 0 ? -errno : fd;
}
// Opens a file that serves only as a lock and that only its owner can access. Creates it if it does not exist.
static inline int lk_open_lock(const char *path) {
  int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  return fd < 0 ? -errno : fd;
}
static inline int lk_create_private_folder(const char *path) { return mkdir(path, 0700) < 0 ? -errno : 0; }
static inline int lk_open_folder(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}
// Locks a file until the descriptor is closed. Returns -EWOULDBLOCK if another process holds the lock.
static inline int lk_hold(int fd) { return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0; }
// Locks a file as lk_hold does, but waits until the current holder releases it.
static inline int lk_hold_in_turn(int fd) {
  int result;
  do result = flock(fd, LOCK_EX); while (result < 0 && errno == EINTR);
  return result < 0 ? -errno : 0;
}
// Opens a folder, whose names lk_next_name returns one by one. After NULL, `*code` is the errno, or 0 if there are no
// more names.
static inline DIR *lk_list(const char *path, int *code) {
  DIR *list = opendir(path);
  if (!list) *code = errno;
  return list;
}
static inline const char *lk_next_name(DIR *list, int *code) {
  errno = 0;
  struct dirent *entry = readdir(list);
  if (entry) return entry->d_name;
  *code = errno;
  return NULL;
}
static inline void lk_end_list(DIR *list) { closedir(list); }
// Returns whether users other than the owner may read or write the file, or another user owns it. Negative: -errno.
static inline int lk_is_exposed(int fd) {
  struct stat entry;
  if (fstat(fd, &entry) < 0) return -errno;
  return (entry.st_mode & 077) != 0 || entry.st_uid != geteuid();
}
// Returns the permission bits of a file. Negative: -errno.
static inline int lk_file_mode(const char *path) {
  struct stat entry;
  return stat(path, &entry) < 0 ? -errno : (int)(entry.st_mode & 07777);
}
static inline int lk_sync(int fd) { return fsync(fd) < 0 ? -errno : 0; }
static inline int lk_rename(const char *from, const char *to) { return rename(from, to) < 0 ? -errno : 0; }
static inline void lk_remove(const char *path) { unlink(path); }
static inline const char *lk_environment(const char *name) { return getenv(name); }
static inline _Bool lk_is_terminal(int fd) { return isatty(fd); }

// Reads a line from the terminal without echo. Returns its length in bytes. -ENXIO: there is no terminal. -EINTR:
// Ctrl-C or the end of input. -EMSGSIZE: the line is longer than `most`.
int lk_read_secret(const char *prompt, char *line, int most);

// Returns the number of processors in the affinity mask, which taskset and containers narrow.
int lk_processors(void);
static inline _Noreturn void lk_exit(int code) { _exit(code); }
static inline void lk_close(int fd) { close(fd); }
// Returns the number of bytes that the peer has not acknowledged (tcp(7)).
static inline int lk_unacknowledged(int fd) {
  int bytes = 0;
  return ioctl(fd, TIOCOUTQ, &bytes) == 0 ? bytes : 0;
}
// Returns the number of consecutive retransmissions and window probes without an answer (tcp(7), TCP_INFO).
static inline int lk_unanswered(int fd) {
  struct tcp_info info = {0};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.tcpi_retransmits + info.tcpi_probes;
}
static inline int lk_shutdown_write(int fd) { return shutdown(fd, SHUT_WR) < 0 ? -errno : 0; }

// libssl writes with plain write(2). Without this call, a write to a closed connection would end the process.
static inline void lk_ignore_sigpipe(void) { signal(SIGPIPE, SIG_IGN); }

// Sets the nice value of this thread only: Linux gives each thread its own.
static inline void lk_be_nice(int value) { setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), value); }

// Asks the scheduler to favour latency for this thread. When it wakes, it runs before a thread that computes, and it
// yields to others sooner. Only some schedulers support this hint (EEVDF, Linux 6.12). The nice value does not change.
void lk_be_prompt(void);

// The kernel keeps 15 bytes of a thread's name and truncates the rest.
static inline void lk_name_thread(const char *name) { prctl(PR_SET_NAME, name); }

// Returns the signals that the server handles.
static inline sigset_t lk_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGUSR1);
  return set;
}
// Blocks these signals in this thread and all threads that it starts. lk_wait_signal receives them.
static inline void lk_block_signals(void) {
  sigset_t set = lk_signals();
  pthread_sigmask(SIG_BLOCK, &set, NULL);
}
static inline int lk_wait_signal(void) {
  sigset_t set = lk_signals();
  int signal = 0;
  return sigwait(&set, &signal) == 0 ? signal : -1;
}

// Opens /dev/null for every standard descriptor that the parent closed. Otherwise a file or socket of ours would get
// its number, and log output would go there.
static inline void lk_hold_standard_descriptors(void) {
  int fd;
  do fd = open("/dev/null", O_RDWR); while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

// The commit of a build of deploy/build; empty in other builds.
const char *lk_commit(void);

// Prevents core files and access by other processes of the same user, because the process holds keys.
int lk_forbid_dumps(void);
// Raises the limit on open files to its hard maximum. Returns the limit.
static inline int64_t lk_raise_file_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -errno;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return (int64_t)limit.rlim_cur;
}
