// Functions that only a TLS client needs.
#pragma once
#include "certificates.h"
#include "tls.h"

// Configures all of a client except certificates. Returns 0, or the number of the step that failed.
static inline int lk_tls_configure_client(SSL_CTX *context, int tls13_only) {
  int failed = lk_tls_configure_common(context, tls13_only);
  if (failed) return failed;
  // This function returns 0 on success.
  if (SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x02h2", 3) != 0) return 5;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  return 0;
}
// Sets the client's own certificate and key. libssl's error stays in the queue.
static inline int lk_tls_use_client_pair(SSL_CTX *context, struct lk_tls_file chain, struct lk_tls_file key) {
  ERR_clear_error();
  return lk_tls_use_chain(context, chain) ? lk_tls_use_key(context, key) : LK_TLS_UNREADABLE_CERTIFICATE;
}
// Trusts servers of the authorities in a file, or of the system's authorities if the path is empty.
static inline int lk_tls_trust(SSL_CTX *context, const char *authorities) {
  ERR_clear_error();
  return authorities[0] ? SSL_CTX_load_verify_locations(context, authorities, NULL)
                        : SSL_CTX_set_default_verify_paths(context);
}
// Requires a server certificate for this DNS name or IP address. Returns 1, or 0 if out of memory.
static inline int lk_tls_expect(SSL *ssl, const char *name, int is_address) {
  SSL_set_connect_state(ssl);
  if (is_address) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name);
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  // RFC 6066 3: the server name extension contains only DNS names.
  return SSL_set1_host(ssl, name) && SSL_set_tlsext_host_name(ssl, name);
}
// Returns why the peer's certificate was rejected, or NULL.
static inline const char *lk_tls_refusal(const SSL *ssl) {
  long result = SSL_get_verify_result(ssl);
  return result == X509_V_OK ? NULL : X509_verify_cert_error_string(result);
}
// Returns whether the server selected HTTP/2. A server without ALPN would receive a protocol that it does not expect.
static inline int lk_tls_agreed_on_h2(const SSL *ssl) {
  const unsigned char *protocol;
  unsigned int bytes;
  SSL_get0_alpn_selected(ssl, &protocol, &bytes);
  return bytes == 2 && memcmp(protocol, "h2", 2) == 0;
}
// Returns a session that a later connection can resume. The caller frees it. NULL: the server has sent no ticket yet.
static inline SSL_SESSION *lk_tls_ticket(SSL *ssl) {
  SSL_SESSION *session = SSL_get1_session(ssl);
  if (session && SSL_SESSION_is_resumable(session)) return session;
  SSL_SESSION_free(session);
  return NULL;
}
