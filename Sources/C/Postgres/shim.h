// libpq, and what of it is a macro.
#pragma once
#include <libpq-fe.h>

// Blocks. The conninfo may be a URI and is weaker than what follows it; of several hosts it takes the one that can be
// written to. What is NULL leaves the conninfo as it is: no password is sent, and all of its hosts are asked.
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

// NULL where the server said none, as it does of a connection that broke.
static inline const char *latchkey_postgres_state(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}
// The first line alone: the lines that follow it quote rows.
static inline const char *latchkey_postgres_message(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}
static inline const char *latchkey_postgres_constraint(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
}

static inline void latchkey_postgres_drop_notice(void *context, const PGresult *notice) {}
// Notices would go to the standard error.
static inline void latchkey_postgres_drop_notices(PGconn *connection) {
  PQsetNoticeReceiver(connection, latchkey_postgres_drop_notice, NULL);
}
