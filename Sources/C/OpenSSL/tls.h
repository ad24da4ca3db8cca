// libssl as Swift can call it: macros become functions, and each call that reports through the error queue or errno
// clears, calls, classifies and collects in one place, because both are per thread and anything in between may change
// them.
#pragma once
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <string.h>

enum lk_tls_kind { LK_TLS_DONE, LK_TLS_WANT_READ, LK_TLS_WANT_WRITE, LK_TLS_CLOSED, LK_TLS_FAILED };
struct lk_tls_result {
  int kind;
  int bytes;
  unsigned long error;
};

static inline struct lk_tls_result lk_tls_classify(SSL *ssl, int result) {
  struct lk_tls_result answer = {LK_TLS_DONE, result, 0};
  if (result > 0) return answer;
  int system = errno;
  answer.bytes = 0;
  switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ: answer.kind = LK_TLS_WANT_READ; break;
    case SSL_ERROR_WANT_WRITE: answer.kind = LK_TLS_WANT_WRITE; break;
    case SSL_ERROR_ZERO_RETURN: answer.kind = LK_TLS_CLOSED; break;
    case SSL_ERROR_SYSCALL:
      // A peer that goes without close_notify is a plain close: HTTP/2 frames tell truncation.
      answer.kind = system == 0 || system == ECONNRESET || system == EPIPE ? LK_TLS_CLOSED : LK_TLS_FAILED;
      break;
    default:
      answer.error = ERR_peek_error();
      answer.kind = ERR_GET_REASON(answer.error) == SSL_R_UNEXPECTED_EOF_WHILE_READING ? LK_TLS_CLOSED : LK_TLS_FAILED;
  }
  ERR_clear_error();
  return answer;
}

// Within one read libssl goes on by itself over records that carry no data, and a few clients can send key updates
// faster than one thread works them off: it would never come back. So a step may ask the socket this often; then it
// wants to read, and epoll says whether there is more.
enum { LK_TLS_READS_MAX = 2 };
static inline long lk_tls_count_read(BIO *bio, int operation, const char *data, size_t bytes, int command,
                                     long argument, int result, size_t *processed) {
  (void)data, (void)bytes, (void)command, (void)argument, (void)processed;
  if (operation != BIO_CB_READ) return result;
  intptr_t reads = (intptr_t)BIO_get_callback_arg(bio) + 1;
  BIO_set_callback_arg(bio, (char *)reads);
  if (reads <= LK_TLS_READS_MAX) return 1;
  BIO_clear_retry_flags(bio);
  BIO_set_retry_read(bio);
  return -1;
}
// 1, or 0 where memory lacks.
static inline int lk_tls_attach(SSL *ssl, int fd) {
  if (SSL_set_fd(ssl, fd) != 1) return 0;
  BIO_set_callback_ex(SSL_get_rbio(ssl), lk_tls_count_read);
  return 1;
}
static inline void lk_tls_begin(SSL *ssl) {
  ERR_clear_error();
  errno = 0;
  BIO_set_callback_arg(SSL_get_rbio(ssl), NULL);
}

static inline struct lk_tls_result lk_tls_handshake(SSL *ssl) {
  lk_tls_begin(ssl);
  return lk_tls_classify(ssl, SSL_do_handshake(ssl));
}
static inline struct lk_tls_result lk_tls_read(SSL *ssl, void *bytes, int most) {
  lk_tls_begin(ssl);
  return lk_tls_classify(ssl, SSL_read(ssl, bytes, most));
}
static inline struct lk_tls_result lk_tls_write(SSL *ssl, const void *bytes, int count) {
  lk_tls_begin(ssl);
  return lk_tls_classify(ssl, SSL_write(ssl, bytes, count));
}
// Says goodbye once and does not wait for the peer's.
static inline void lk_tls_shutdown(SSL *ssl) {
  SSL_shutdown(ssl);
  ERR_clear_error();
}

// RFC 7301: h2 or no handshake.
static inline int lk_tls_select_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_bytes,
                                     const unsigned char *in, unsigned int in_bytes, void *unused) {
  (void)ssl;
  (void)unused;
  for (unsigned int at = 0; at < in_bytes; at += 1u + in[at]) {
    if (in[at] == 2 && at + 2 < in_bytes && memcmp(in + at + 1, "h2", 2) == 0) {
      *out = in + at + 1;
      *out_bytes = 2;
      return SSL_TLSEXT_ERR_OK;
    }
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}
// A client that offers no protocol at all never reaches the callback above.
static inline int lk_tls_demand_alpn(SSL *ssl, int *alert, void *unused) {
  (void)unused;
  const unsigned char *data;
  size_t bytes;
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &data, &bytes)) {
    return SSL_CLIENT_HELLO_SUCCESS;
  }
  *alert = SSL_AD_NO_APPLICATION_PROTOCOL;
  return SSL_CLIENT_HELLO_ERROR;
}

// What both ends hold to. 0, or the number of the step that failed.
static inline int lk_tls_configure_common(SSL_CTX *context, int tls13_only) {
  ERR_clear_error();
  if (!SSL_CTX_set_min_proto_version(context, tls13_only ? TLS1_3_VERSION : TLS1_2_VERSION)) return 1;
  // RFC 9113 9.2.2: only ephemeral key exchange with AEAD under TLS 1.2.
  if (!SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20")) return 2;
  // AES-128 first: as strong as X25519 and P-256 are, and a tenth cheaper than AES-256.
  if (!SSL_CTX_set_ciphersuites(
          context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256")) {
    return 6;
  }
  if (!SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384")) return 3;
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, 16 * 1024 + 512);
  return 0;
}

// Everything of a server but certificates. 0, or the number of the step that failed.
static inline int lk_tls_configure(SSL_CTX *context, int tls13_only) {
  int failed = lk_tls_configure_common(context, tls13_only);
  if (failed) return failed;
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  if (!SSL_CTX_set_num_tickets(context, 1)) return 4;
  SSL_CTX_set_timeout(context, 3600);
  // Early data could be replayed, and every call here changes something or says who somebody is.
  if (!SSL_CTX_set_max_early_data(context, 0)) return 5;
  SSL_CTX_set_alpn_select_cb(context, lk_tls_select_alpn, NULL);
  SSL_CTX_set_client_hello_cb(context, lk_tls_demand_alpn, NULL);
  return 0;
}

// Everything of a client but certificates. 0, or the number of the step that failed.
static inline int lk_tls_configure_client(SSL_CTX *context, int tls13_only) {
  int failed = lk_tls_configure_common(context, tls13_only);
  if (failed) return failed;
  // 0 is success here.
  if (SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x02h2", 3) != 0) return 4;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  return 0;
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

// 0, or the number of the step that failed: 1 certificate file, 2 key file, 3 they do not belong together.
static inline int lk_tls_use_pair(SSL_CTX *context, const char *certificate, const char *key) {
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1) return 1;
  if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
    // libssl finds a stranger here if it is of the certificate's kind, and below if it is not.
    unsigned long error = ERR_peek_last_error();
    return ERR_GET_LIB(error) == ERR_LIB_X509 && ERR_GET_REASON(error) == X509_R_KEY_VALUES_MISMATCH ? 3 : 2;
  }
  return SSL_CTX_check_private_key(context) == 1 ? 0 : 3;
}
static inline int lk_tls_verify_clients(SSL_CTX *context, const char *authorities, int required) {
  ERR_clear_error();
  if (SSL_CTX_load_verify_locations(context, authorities, NULL) != 1) return 1;
  STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(authorities);
  if (!names) return 2;
  SSL_CTX_set_client_CA_list(context, names);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
  return 0;
}

// The name of the peer's verified certificate: its first URI, else its first DNS name (semantics: URI then DNS).
// Returns the bytes written, 0: no certificate, -1: a certificate without a usable name.
static inline int lk_tls_peer_name(SSL *ssl, char *name, int most) {
  X509 *certificate = SSL_get0_peer_certificate(ssl);
  if (!certificate || SSL_get_verify_result(ssl) != X509_V_OK) return 0;
  GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  int found = -1;
  for (int pass = 0; pass < 2 && found < 0; pass++) {
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names) && found < 0; i++) {
      const GENERAL_NAME *entry = sk_GENERAL_NAME_value(names, i);
      if (entry->type != (pass == 0 ? GEN_URI : GEN_DNS)) continue;
      const ASN1_IA5STRING *text = entry->d.ia5;
      int bytes = ASN1_STRING_length(text);
      const unsigned char *data = ASN1_STRING_get0_data(text);
      // An inner NUL would make two names of one.
      if (bytes > 0 && bytes <= most && !memchr(data, 0, (size_t)bytes)) {
        memcpy(name, data, (size_t)bytes);
        found = bytes;
      }
    }
  }
  GENERAL_NAMES_free(names);
  return found;
}
