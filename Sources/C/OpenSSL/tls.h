// libssl for Swift: macros become functions. Each call that reports through the error queue or errno clears, calls,
// classifies and collects in one place. Both belong to the thread, and any code in between may change them.
#pragma once
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <string.h>

enum lk_tls_kind {
  LK_TLS_DONE, LK_TLS_WANT_READ, LK_TLS_WANT_WRITE, LK_TLS_CLOSED, LK_TLS_FAILED, LK_TLS_TOO_MANY_KEY_UPDATES
};
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
      // A peer that leaves without close_notify closes normally: HTTP/2 frames reveal truncation.
      answer.kind = system == 0 || system == ECONNRESET || system == EPIPE ? LK_TLS_CLOSED : LK_TLS_FAILED;
      break;
    default:
      answer.error = ERR_peek_error();
      answer.kind = ERR_GET_REASON(answer.error) == SSL_R_UNEXPECTED_EOF_WHILE_READING ? LK_TLS_CLOSED : LK_TLS_FAILED;
  }
  ERR_clear_error();
  return answer;
}

// Within one read, libssl continues past records that carry no data. A few clients can send key updates faster than one
// thread processes them, so the read would never return. A step therefore reads from the socket at most this many
// times. Then it returns LK_TLS_WANT_READ, and epoll reports whether there is more.
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

// Maximum number of key updates on a connection. One costs a peer 27 bytes and costs the server as much as a call.
// AES-GCM requires one after hundreds of gigabytes (RFC 8446 5.5), and a connection lives for an hour, so a peer that
// sends more is abusive. The same limit covers requests for renegotiation under TLS 1.2. Each takes four bytes of a
// record, and libssl answers it with an alert.
enum { LK_TLS_KEY_UPDATES_MAX = 32 };
static inline void lk_tls_count_key_update(int written, int version, int type, const void *message, size_t bytes,
                                           SSL *ssl, void *unused) {
  (void)version, (void)unused;
  if (written || type != SSL3_RT_HANDSHAKE || bytes == 0) return;
  uint8_t kind = *(const uint8_t *)message;
  if (kind != SSL3_MT_KEY_UPDATE && kind != SSL3_MT_CLIENT_HELLO && kind != SSL3_MT_HELLO_REQUEST) return;
  intptr_t updates = (intptr_t)SSL_get_app_data(ssl) + 1;
  SSL_set_app_data(ssl, (void *)updates);
  // One read processes all updates in its buffer: some 600, which take milliseconds. libssl stops between two records
  // only if the stream is marked as ended, so mark it.
  if (updates > LK_TLS_KEY_UPDATES_MAX) SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
}
// Returns 1, or 0 if out of memory.
static inline int lk_tls_attach(SSL *ssl, int fd) {
  if (SSL_set_fd(ssl, fd) != 1) return 0;
  BIO_set_callback_ex(SSL_get_rbio(ssl), lk_tls_count_read);
  SSL_set_msg_callback(ssl, lk_tls_count_key_update);
  return 1;
}
static inline void lk_tls_begin(SSL *ssl) {
  ERR_clear_error();
  errno = 0;
  BIO_set_callback_arg(SSL_get_rbio(ssl), NULL);
}

static inline struct lk_tls_result lk_tls_handshake(SSL *ssl) {
  lk_tls_begin(ssl);
  int done = SSL_do_handshake(ssl);
  // The hellos of the handshake itself do not count.
  if (done == 1) SSL_set_app_data(ssl, NULL);
  return lk_tls_classify(ssl, done);
}
static inline struct lk_tls_result lk_tls_read(SSL *ssl, void *bytes, int most) {
  lk_tls_begin(ssl);
  struct lk_tls_result answer = lk_tls_classify(ssl, SSL_read(ssl, bytes, most));
  if ((intptr_t)SSL_get_app_data(ssl) > LK_TLS_KEY_UPDATES_MAX) answer.kind = LK_TLS_TOO_MANY_KEY_UPDATES;
  return answer;
}
static inline struct lk_tls_result lk_tls_write(SSL *ssl, const void *bytes, int count) {
  lk_tls_begin(ssl);
  return lk_tls_classify(ssl, SSL_write(ssl, bytes, count));
}
// Sends close_notify once and does not wait for the peer's.
static inline void lk_tls_shutdown(SSL *ssl) {
  SSL_shutdown(ssl);
  ERR_clear_error();
}

// Selects h2 or fails the handshake (RFC 7301).
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
// Rejects a client that offers no protocol, because it never reaches the callback above.
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

// Selects HTTP/1.1 on a port that serves it, if the client offers it. A client without ALPN also gets HTTP/1.1.
static inline int lk_tls_select_http1(SSL *ssl, const unsigned char **out, unsigned char *out_bytes,
                                      const unsigned char *in, unsigned int in_bytes, void *unused) {
  (void)ssl;
  (void)unused;
  for (unsigned int at = 0; at < in_bytes; at += 1u + in[at]) {
    if (in[at] == 8 && at + 8 < in_bytes && memcmp(in + at + 1, "http/1.1", 8) == 0) {
      *out = in + at + 1;
      *out_bytes = 8;
      return SSL_TLSEXT_ERR_OK;
    }
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Configures the settings of both ends. Returns 0, or the number of the step that failed.
static inline int lk_tls_configure_common(SSL_CTX *context, int tls13_only) {
  ERR_clear_error();
  if (!SSL_CTX_set_min_proto_version(context, tls13_only ? TLS1_3_VERSION : TLS1_2_VERSION)) return 1;
  // RFC 9113 9.2.2: only ephemeral key exchange with AEAD under TLS 1.2.
  if (!SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20")) return 2;
  // AES-128 first: it is as strong as X25519 and P-256, and a tenth cheaper than AES-256.
  if (!SSL_CTX_set_ciphersuites(
          context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256")) {
    return 3;
  }
  if (!SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384")) return 4;
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, 16 * 1024 + 512);
  return 0;
}

// Configures all of a server except certificates and tickets. Returns 0, or the number of the step that failed.
static inline int lk_tls_configure(SSL_CTX *context, int tls13_only, int http1) {
  int failed = lk_tls_configure_common(context, tls13_only);
  if (failed) return failed;
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  // Early data can be replayed, and every call here changes something or identifies a user.
  if (!SSL_CTX_set_max_early_data(context, 0)) return 5;
  SSL_CTX_set_alpn_select_cb(context, http1 ? lk_tls_select_http1 : lk_tls_select_alpn, NULL);
  if (!http1) SSL_CTX_set_client_hello_cb(context, lk_tls_demand_alpn, NULL);
  return 0;
}

// Writes the name of a certificate's holder: its first URI, else its first DNS name. Returns the number of bytes
// written, or -1 if the certificate has no usable name.
enum { LK_TLS_NAME_TYPE_BYTES = 4 };
static inline int lk_tls_certificate_name(const X509 *certificate, char *name, int most) {
  GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  int found = -1;
  for (int pass = 0; pass < 2 && found < 0; pass++) {
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names) && found < 0; i++) {
      const GENERAL_NAME *entry = sk_GENERAL_NAME_value(names, i);
      if (entry->type != (pass == 0 ? GEN_URI : GEN_DNS)) continue;
      const ASN1_IA5STRING *text = entry->d.ia5;
      int bytes = ASN1_STRING_length(text);
      const unsigned char *data = ASN1_STRING_get0_data(text);
      // An inner NUL would make one name into two.
      if (bytes > 0 && bytes <= most - LK_TLS_NAME_TYPE_BYTES && !memchr(data, 0, (size_t)bytes)) {
        memcpy(name, pass == 0 ? "uri:" : "dns:", LK_TLS_NAME_TYPE_BYTES);
        // RFC 4343: DNS names are case-insensitive.
        for (int at = 0; at < bytes; at++) {
          int is_capital = pass == 1 && data[at] >= 'A' && data[at] <= 'Z';
          name[LK_TLS_NAME_TYPE_BYTES + at] = (char)(is_capital ? data[at] | 0x20 : data[at]);
        }
        found = LK_TLS_NAME_TYPE_BYTES + bytes;
      }
    }
  }
  GENERAL_NAMES_free(names);
  return found;
}
// Writes the name in the peer's verified certificate. Returns 0 if the peer has none.
static inline int lk_tls_peer_name(SSL *ssl, char *name, int most) {
  X509 *certificate = SSL_get0_peer_certificate(ssl);
  if (!certificate || SSL_get_verify_result(ssl) != X509_V_OK) return 0;
  return lk_tls_certificate_name(certificate, name, most);
}
// Writes the name in a DER certificate. Returns 0 if the bytes are not a certificate.
static inline int lk_tls_der_name(const unsigned char *der, long count, char *name, int most) {
  ERR_clear_error();
  X509 *certificate = d2i_X509(NULL, &der, count);
  int found = certificate ? lk_tls_certificate_name(certificate, name, most) : 0;
  X509_free(certificate);
  ERR_clear_error();
  return found;
}
