// What only the client's end of TLS needs.
#pragma once
#include "certificates.h"
#include "tls.h"

// Everything of a client but certificates. 0, or the number of the step that failed.
static inline int lk_tls_configure_client(SSL_CTX *context, int tls13_only) {
  int failed = lk_tls_configure_common(context, tls13_only);
  if (failed) return failed;
  // 0 is success here.
  if (SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x02h2", 3) != 0) return 5;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  return 0;
}
// Gives a context the client's own certificate and key; libssl's word on a fault is left in the queue.
static inline int lk_tls_use_client_pair(SSL_CTX *context, struct lk_tls_file chain, struct lk_tls_file key) {
  ERR_clear_error();
  return lk_tls_use_chain(context, chain) ? lk_tls_use_key(context, key) : LK_TLS_UNREADABLE_CERTIFICATE;
}
// Whose servers are believed: a file of authorities, or without one those of the system.
static inline int lk_tls_trust(SSL_CTX *context, const char *authorities) {
  ERR_clear_error();
  return authorities[0] ? SSL_CTX_load_verify_locations(context, authorities, NULL)
                        : SSL_CTX_set_default_verify_paths(context);
}
// The server's certificate must be for this DNS name or this address. 1, or 0 where memory lacks.
static inline int lk_tls_expect(SSL *ssl, const char *name, int is_address) {
  SSL_set_connect_state(ssl);
  if (is_address) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name);
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  // RFC 6066 3: the server name extension has names only.
  return SSL_set1_host(ssl, name) && SSL_set_tlsext_host_name(ssl, name);
}
// Why the peer's certificate was refused, or NULL.
static inline const char *lk_tls_refusal(const SSL *ssl) {
  long result = SSL_get_verify_result(ssl);
  return result == X509_V_OK ? NULL : X509_verify_cert_error_string(result);
}
// A server that knows no ALPN would be spoken to in a protocol it does not expect.
static inline int lk_tls_agreed_on_h2(const SSL *ssl) {
  const unsigned char *protocol;
  unsigned int bytes;
  SSL_get0_alpn_selected(ssl, &protocol, &bytes);
  return bytes == 2 && memcmp(protocol, "h2", 2) == 0;
}
// What a later connection can take up, to be freed; NULL: the server has given no ticket yet.
static inline SSL_SESSION *lk_tls_ticket(SSL *ssl) {
  SSL_SESSION *session = SSL_get1_session(ssl);
  if (session && SSL_SESSION_is_resumable(session)) return session;
  SSL_SESSION_free(session);
  return NULL;
}
