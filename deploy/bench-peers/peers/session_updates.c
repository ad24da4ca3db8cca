// The bound of Refresh: SQLite alone makes the same change to the same row of the same file, BATCH rows in each commit.
// The pragmas are those of the server's writer. Prints the changed rows for each CPU-second and for each second.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// One session for each caller that loads the server.
enum { SESSIONS_MAX = 256, ID_BYTES_MAX = 64, DIGEST_BYTES = 32, CHECKPOINT_PAGES = 1000 };

static const char *const UPDATE =
    "UPDATE sessions SET parent_digest = refresh_digest, refresh_digest = ?1, rotated_at = ?2, last_used_at = ?2,"
    " idle_expires_at = ?3, ends_at = min(?3, expires_at) WHERE id = ?4 AND closed_at IS NULL AND ends_at > ?2";

static sqlite3 *store;
static int log_pages;

static void need(int right, const char *what) {
  if (right) return;
  fprintf(stderr, "session_updates: %s: %s\n", what, sqlite3_errmsg(store));
  exit(1);
}

static void run(const char *sql) { need(sqlite3_exec(store, sql, NULL, NULL, NULL) == SQLITE_OK, sql); }

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement = NULL;
  need(sqlite3_prepare_v3(store, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) == SQLITE_OK, sql);
  return statement;
}

static void step(sqlite3_stmt *statement) {
  need(sqlite3_step(statement) == SQLITE_DONE, sqlite3_sql(statement));
  sqlite3_reset(statement);
}

static int count_pages(void *context, sqlite3 *connection, const char *name, int pages) {
  (void)context, (void)connection, (void)name;
  log_pages = pages;
  return SQLITE_OK;
}

static void open_store(const char *path) {
  need(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK, "memory statistics");
  need(sqlite3_open_v2(path, &store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK, path);
  run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cache_size = -65536;"
      "PRAGMA mmap_size = 1073741824; PRAGMA temp_store = MEMORY");
  sqlite3_wal_hook(store, count_pages, NULL);
}

static int read_sessions(char ids[][ID_BYTES_MAX], long long *ends_at) {
  sqlite3_stmt *select = prepare("SELECT id, ends_at FROM sessions WHERE closed_at IS NULL ORDER BY ends_at DESC");
  int count = 0;
  while (count < SESSIONS_MAX && sqlite3_step(select) == SQLITE_ROW) {
    snprintf(ids[count++], ID_BYTES_MAX, "%s", (const char *)sqlite3_column_text(select, 0));
    *ends_at = sqlite3_column_int64(select, 1);
  }
  sqlite3_finalize(select);
  need(count > 0, "no open session");
  return count;
}

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void change(sqlite3_stmt *update, const char *id, long number, long long ends_at) {
  unsigned char digest[DIGEST_BYTES] = {0};
  memcpy(digest, &number, sizeof number);
  sqlite3_bind_blob(update, 1, digest, DIGEST_BYTES, SQLITE_STATIC);
  // Each change has a later time, as with a clock, so both indexed columns of the row change.
  sqlite3_bind_int64(update, 2, ends_at - 1);
  sqlite3_bind_int64(update, 3, ends_at + number + 1);
  sqlite3_bind_text(update, 4, id, -1, SQLITE_STATIC);
  step(update);
  need(sqlite3_changes(store) == 1, "a session is not open");
}

int main(int count, char **words) {
  if (count != 4) {
    fputs("usage: session_updates STORE BATCH SECONDS\n", stderr);
    return 2;
  }
  static char ids[SESSIONS_MAX][ID_BYTES_MAX];
  const long batch = atol(words[2]);
  const double seconds = atof(words[3]);
  long long ends_at = 0;
  open_store(words[1]);
  const int sessions = read_sessions(ids, &ends_at);
  sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT"), *update = prepare(UPDATE);
  double begun = 0, cpu_begun = 0;
  long changed = 0, counted_from = 0;
  do {
    step(begin);
    for (long each = 0; each < batch; each++, changed++) change(update, ids[changed % sessions], changed, ends_at);
    step(commit);
    if (log_pages < CHECKPOINT_PAGES) continue;
    need(sqlite3_wal_checkpoint_v2(store, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL) == SQLITE_OK, "checkpoint");
    if (begun > 0) continue;
    // Syncing a log that still grows costs more than syncing one that is overwritten, as in a running server.
    begun = seconds_of(CLOCK_MONOTONIC), cpu_begun = seconds_of(CLOCK_PROCESS_CPUTIME_ID), counted_from = changed;
  } while (begun == 0 || seconds_of(CLOCK_MONOTONIC) - begun < seconds);
  printf("%.3f %.3f\n", (double)(changed - counted_from) / (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_begun),
         (double)(changed - counted_from) / (seconds_of(CLOCK_MONOTONIC) - begun));
  return 0;
}
