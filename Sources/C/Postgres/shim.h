// libpq, with functions for its macros.
#pragma once
#include <libpq-fe.h>

// Connects and blocks until the attempt ends. `conninfo` may be a URI; the other parameters override it. If it names
// several hosts, libpq selects the one that accepts writes. A NULL parameter leaves `conninfo` unchanged: without
// `password`, this function adds none, and without `host`, libpq tries all hosts.
static inline PGconn *latchkey_postgres_connect(
    const char *conninfo, const char *password, const char *connect_seconds, const char *answer_millis,
    const char *host, const char *address, const char *port) {
  const char *keywords[] = {
      "dbname", "application_name", "client_encoding", "target_session_attrs", "connect_timeout", "keepalives",
      "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "password", "host", "hostaddr",
      "port", NULL};
  const char *values[] = {
      conninfo, "latchkeyd", "UTF8", "read-write", connect_seconds, "1", "10", "5", "3", answer_millis, password, host,
      address, port, NULL};
  return PQconnectdbParams(keywords, values, 1);
}

// Returns NULL if the server sent no SQLSTATE, as after a broken connection.
static inline const char *latchkey_postgres_state(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}
// Returns only the first line: the lines that follow it quote rows.
static inline const char *latchkey_postgres_message(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}
static inline const char *latchkey_postgres_constraint(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
}

static inline void latchkey_postgres_drop_notice(void *context, const PGresult *notice) {}
// By default, libpq writes notices to standard error.
static inline void latchkey_postgres_drop_notices(PGconn *connection) {
  PQsetNoticeReceiver(connection, latchkey_postgres_drop_notice, NULL);
}
