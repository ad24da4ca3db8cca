// The files of a TLS context. Each file is read once, and checked before the context serves a client.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "passphrase.h"

// Distinguishes a file from its predecessor of the same name, also behind a symbolic link. All 0: the file does not
// exist.
struct lk_tls_mark {
  uint64_t device, inode;
  int64_t bytes, changed_seconds, changed_nanos;
};
static inline struct lk_tls_mark lk_tls_mark_of(const char *path) {
  struct stat found;
  if (stat(path, &found) < 0) return (struct lk_tls_mark){0, 0, 0, 0, 0};
  return (struct lk_tls_mark){found.st_dev, found.st_ino, found.st_size, found.st_ctim.tv_sec, found.st_ctim.tv_nsec};
}

// The content of a file, in memory that lk_tls_forget wipes. `error` is an errno. EFBIG: the file is longer than
// `most`.
struct lk_tls_file {
  unsigned char *bytes;
  int count;
  int error;
};
static inline void lk_tls_forget(struct lk_tls_file file) { OPENSSL_clear_free(file.bytes, (size_t)file.count); }
static inline struct lk_tls_file lk_tls_read_whole(const char *path, int most) {
  struct lk_tls_file file = {NULL, 0, 0};
  // Opening a pipe would block, and a pipe can be read only once.
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return (struct lk_tls_file){NULL, 0, errno};
  struct stat found;
  if (fstat(fd, &found) < 0) {
    file.error = errno;
  } else if (!S_ISREG(found.st_mode)) {
    file.error = EINVAL;
  } else if (found.st_size > most) {
    file.error = EFBIG;
  } else if (!(file.bytes = OPENSSL_malloc((size_t)found.st_size + 1))) {
    file.error = ENOMEM;
  }
  while (!file.error && file.count < found.st_size) {
    ssize_t count = read(fd, file.bytes + file.count, (size_t)(found.st_size - file.count));
    if (count < 0 && errno != EINTR) file.error = errno;
    if (count == 0) break;
    if (count > 0) file.count += (int)count;
  }
  close(fd);
  if (file.error && file.bytes) {
    lk_tls_forget(file);
    file.bytes = NULL;
    file.count = 0;
  }
  return file;
}

// A fault of a certificate, its chain or its key.
enum lk_tls_fault {
  LK_TLS_SOUND,
  LK_TLS_UNREADABLE_CERTIFICATE,
  LK_TLS_NOT_OF_A_SERVER,
  // `at` is the position in the chain, from 1, of a certificate that the next one did not sign or that is not valid
  // now.
  LK_TLS_OUT_OF_ORDER,
  LK_TLS_EXPIRED,
  LK_TLS_NOT_YET_VALID,
  LK_TLS_UNREADABLE_KEY,
  LK_TLS_ENCRYPTED_KEY,
  LK_TLS_KEY_OF_ANOTHER,
};
struct lk_tls_verdict {
  int fault;
  int at;
  // Validity period of the faulty certificate, else of the leaf, in Unix seconds.
  int64_t not_before, not_after;
};

static inline X509 *lk_tls_next_certificate(BIO *file) {
  return PEM_read_bio_X509_AUX(file, NULL, lk_no_passphrase, NULL);
}
// Returns, after a failed read, whether the file contains nothing more.
static inline int lk_tls_ended(void) {
  unsigned long error = ERR_peek_last_error();
  int ended = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (ended) ERR_clear_error();
  return ended;
}
static inline int64_t lk_tls_seconds(const ASN1_TIME *moment) {
  struct tm parts;
  return ASN1_TIME_to_tm(moment, &parts) == 1 ? (int64_t)timegm(&parts) : 0;
}
static inline void lk_tls_date(int64_t seconds, char *text, size_t most) {
  struct tm parts;
  time_t moment = seconds;
  if (!gmtime_r(&moment, &parts) || !strftime(text, most, "%Y-%m-%dT%H:%M:%SZ", &parts)) text[0] = 0;
}
// Writes the serial number in hexadecimal, as operators' tools show it. It has at most 20 bytes (RFC 5280 4.1.2.2).
static inline void lk_tls_serial(const SSL_CTX *context, char *text, int most) {
  BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(SSL_CTX_get0_certificate(context)), NULL);
  char *digits = number ? BN_bn2hex(number) : NULL;
  if (snprintf(text, (size_t)most, "%s", digits ? digits : "") < 0) text[0] = 0;
  OPENSSL_free(digits);
  BN_free(number);
}

static inline int lk_tls_use_chain(SSL_CTX *context, struct lk_tls_file file) {
  BIO *source = BIO_new_mem_buf(file.bytes, file.count);
  X509 *certificate = source ? lk_tls_next_certificate(source) : NULL;
  int good = certificate && SSL_CTX_use_certificate(context, certificate) == 1;
  X509_free(certificate);
  while (good && (certificate = lk_tls_next_certificate(source))) {
    good = SSL_CTX_add0_chain_cert(context, certificate) == 1;
    if (!good) X509_free(certificate);
  }
  good = good && lk_tls_ended();
  BIO_free(source);
  return good;
}
static inline int lk_tls_use_key(SSL_CTX *context, struct lk_tls_file file) {
  BIO *source = BIO_new_mem_buf(file.bytes, file.count);
  EVP_PKEY *key = source ? PEM_read_bio_PrivateKey(source, NULL, lk_no_passphrase, NULL) : NULL;
  BIO_free(source);
  if (!key) {
    unsigned long error = ERR_peek_last_error();
    int reason = ERR_GET_REASON(error);
    return ERR_GET_LIB(error) == ERR_LIB_PEM && reason == PEM_R_BAD_PASSWORD_READ ? LK_TLS_ENCRYPTED_KEY
                                                                                  : LK_TLS_UNREADABLE_KEY;
  }
  int used = SSL_CTX_use_PrivateKey(context, key) == 1;
  EVP_PKEY_free(key);
  if (used) return SSL_CTX_check_private_key(context) == 1 ? LK_TLS_SOUND : LK_TLS_KEY_OF_ANOTHER;
  // SSL_CTX_use_PrivateKey reports the key of another certificate if the key types match. SSL_CTX_check_private_key
  // reports it if they differ.
  unsigned long error = ERR_peek_last_error();
  return ERR_GET_LIB(error) == ERR_LIB_X509 && ERR_GET_REASON(error) == X509_R_KEY_VALUES_MISMATCH
             ? LK_TLS_KEY_OF_ANOTHER
             : LK_TLS_UNREADABLE_KEY;
}

// Checks the order of RFC 8446 4.4.2: the leaf comes first, and each certificate certifies the one before it.
static inline struct lk_tls_verdict lk_tls_judge_chain(SSL_CTX *context, int64_t now) {
  STACK_OF(X509) *issuers = NULL;
  SSL_CTX_get0_chain_certs(context, &issuers);
  X509 *leaf = SSL_CTX_get0_certificate(context), *certificate = leaf;
  struct lk_tls_verdict verdict = {
      LK_TLS_SOUND, 1, lk_tls_seconds(X509_get0_notBefore(leaf)), lk_tls_seconds(X509_get0_notAfter(leaf))};
  if (X509_check_purpose(leaf, X509_PURPOSE_SSL_SERVER, 0) != 1) verdict.fault = LK_TLS_NOT_OF_A_SERVER;
  for (int at = 0; verdict.fault == LK_TLS_SOUND && certificate; at++) {
    X509 *issuer = at < sk_X509_num(issuers) ? sk_X509_value(issuers, at) : NULL;
    int64_t not_before = lk_tls_seconds(X509_get0_notBefore(certificate));
    int64_t not_after = lk_tls_seconds(X509_get0_notAfter(certificate));
    int fault = now >= not_after    ? LK_TLS_EXPIRED
                : now < not_before ? LK_TLS_NOT_YET_VALID
                : issuer && (X509_check_issued(issuer, certificate) != X509_V_OK ||
                             X509_verify(certificate, X509_get0_pubkey(issuer)) != 1)
                    ? LK_TLS_OUT_OF_ORDER
                    : LK_TLS_SOUND;
    if (fault != LK_TLS_SOUND) verdict = (struct lk_tls_verdict){fault, at + 1, not_before, not_after};
    certificate = issuer;
  }
  return verdict;
}

// Sets the certificate and key of a context if they are valid. libssl's error stays in the queue.
static inline struct lk_tls_verdict lk_tls_use_pair(SSL_CTX *context, struct lk_tls_file chain,
                                                    struct lk_tls_file key, int64_t now) {
  ERR_clear_error();
  if (!lk_tls_use_chain(context, chain)) return (struct lk_tls_verdict){LK_TLS_UNREADABLE_CERTIFICATE, 0, 0, 0};
  struct lk_tls_verdict verdict = lk_tls_judge_chain(context, now);
  if (verdict.fault == LK_TLS_SOUND) verdict.fault = lk_tls_use_key(context, key);
  return verdict;
}

// Trusts client certificates of these authorities. Returns 0 if the file is not usable.
static inline int lk_tls_verify_clients(SSL_CTX *context, struct lk_tls_file authorities, int required) {
  ERR_clear_error();
  BIO *source = BIO_new_mem_buf(authorities.bytes, authorities.count);
  int good = source != NULL, count = 0;
  X509 *authority;
  while (good && (authority = lk_tls_next_certificate(source))) {
    good = X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority) == 1 &&
           SSL_CTX_add_client_CA(context, authority) == 1;
    X509_free(authority);
    count += good;
  }
  good = good && count > 0 && lk_tls_ended();
  BIO_free(source);
  // An intermediate authority in the file is a trust anchor itself: the operator lists it for that purpose.
  X509_STORE_set_flags(SSL_CTX_get_cert_store(context), X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
  return good;
}

// Returns the earliest expiry of the certificates in the file, in seconds since 1970; 0 if it has none.
static inline int64_t lk_tls_first_expiry(struct lk_tls_file authorities) {
  BIO *source = BIO_new_mem_buf(authorities.bytes, authorities.count);
  int64_t first = 0;
  X509 *authority;
  while (source && (authority = lk_tls_next_certificate(source))) {
    int64_t end = lk_tls_seconds(X509_get0_notAfter(authority));
    if (first == 0 || end < first) first = end;
    X509_free(authority);
  }
  BIO_free(source);
  ERR_clear_error();
  return first;
}

// Lets a session resume only in a configuration that trusts the same client certificates. Without this, a session from
// another configuration would authenticate its client here. With client certificates, libssl would resume no session.
static inline int lk_tls_bind_sessions(SSL_CTX *context, struct lk_tls_file authorities, int mode) {
  unsigned char digest[EVP_MAX_MD_SIZE] = {0};
  ERR_clear_error();
  // The mode replaces the last byte. The rest of the digest is practically unique.
  if (!EVP_Digest(authorities.bytes, (size_t)authorities.count, digest, NULL, EVP_sha256(), NULL)) return 0;
  digest[SSL_MAX_SID_CTX_LENGTH - 1] = (unsigned char)mode;
  return SSL_CTX_set_session_id_context(context, digest, SSL_MAX_SID_CTX_LENGTH);
}
