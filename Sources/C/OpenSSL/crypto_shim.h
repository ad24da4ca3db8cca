// The libcrypto half of the shim, only for the Crypto module.
//
// OpenSSL reports errors through a queue that belongs to the thread. A later call would read a stale entry as its own
// failure: libssl uses that queue to distinguish "try again" from "broken". Each function here is therefore a complete
// transaction. It empties the queue, makes the call, converts the queued error to its own result, and leaves the queue
// empty. The result is 0 for success, else a packed OpenSSL error code that is never 0.
#pragma once
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include "passphrase.h"

#define LK_NOT_REPORTED ERR_PACK(ERR_LIB_USER, 0, ERR_R_INTERNAL_ERROR)
#define LK_SIGNATURE_BYTES_MAX 1024
#define LK_GCM_TAG_BYTES 16

// Peeking is several times cheaper than clearing, and the queue is nearly always empty.
static inline void lk_begin(void) {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

static inline unsigned long lk_end(int succeeded) {
  unsigned long code = ERR_peek_last_error();
  if (code != 0) ERR_clear_error();
  if (succeeded) return 0;
  return code != 0 ? code : LK_NOT_REPORTED;
}

// Each RAND_bytes asks the generator for its parameters by name: some 6,000 instructions, for 16 bytes or for 512. Each
// thread therefore draws bytes ahead, and wipes those that it hands out from its buffer.
#define LK_RANDOM_AHEAD 512

static inline unsigned long lk_random(uint8_t *out, size_t count) {
  static _Thread_local uint8_t ahead[LK_RANDOM_AHEAD];
  static _Thread_local size_t left = 0;
  lk_begin();
  if (count > LK_RANDOM_AHEAD / 4) return lk_end(count <= INT_MAX && RAND_bytes(out, (int)count) == 1);
  if (count > left) {
    left = 0;
    if (RAND_bytes(ahead, LK_RANDOM_AHEAD) != 1) return lk_end(0);
    left = LK_RANDOM_AHEAD;
  }
  left -= count;
  memcpy(out, ahead + left, count);
  OPENSSL_cleanse(ahead + left, count);
  return lk_end(1);
}

// MARK: Digests

static inline unsigned long lk_digest(const EVP_MD *digest, const uint8_t *bytes, size_t count, uint8_t *out) {
  unsigned int outCount = 0;
  lk_begin();
  return lk_end(EVP_Digest(bytes, count, out, &outCount, digest, NULL) == 1);
}

// Starts a digest of bytes that arrive in parts. Returns NULL if out of memory.
static inline EVP_MD_CTX *lk_digest_begin(const EVP_MD *digest) {
  lk_begin();
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  if (context && EVP_DigestInit_ex(context, digest, NULL) != 1) {
    EVP_MD_CTX_free(context);
    context = NULL;
  }
  lk_end(context != NULL);
  return context;
}

static inline unsigned long lk_digest_take(EVP_MD_CTX *context, const uint8_t *bytes, size_t count) {
  lk_begin();
  return lk_end(EVP_DigestUpdate(context, bytes, count) == 1);
}

static inline unsigned long lk_digest_end(EVP_MD_CTX *context, uint8_t *out) {
  unsigned int outCount = 0;
  lk_begin();
  return lk_end(EVP_DigestFinal_ex(context, out, &outCount) == 1);
}

// For keys that are used once, and rarely (RFC 2104): OpenSSL looks up HMAC and the digest by name in each call.
static inline unsigned long lk_hmac(
    const EVP_MD *digest, const uint8_t *key, size_t keyCount, const uint8_t *bytes, size_t count, uint8_t *out) {
  unsigned int outCount = 0;
  lk_begin();
  return lk_end(keyCount <= INT_MAX && HMAC(digest, key, (int)keyCount, bytes, count, out, &outCount) != NULL);
}

// MARK: Encryption (AES-256-GCM; `out` receives the ciphertext, then the tag)

static inline unsigned long lk_seal(
    const EVP_CIPHER *cipher, const uint8_t *key, const uint8_t *nonce, const uint8_t *context, size_t contextCount,
    const uint8_t *plain, size_t plainCount, uint8_t *out) {
  int written = 0;
  lk_begin();
  if (plainCount > INT_MAX || contextCount > INT_MAX) return LK_NOT_REPORTED;
  EVP_CIPHER_CTX *state = EVP_CIPHER_CTX_new();
  int succeeded = state && EVP_EncryptInit_ex2(state, cipher, key, nonce, NULL) == 1
      && EVP_EncryptUpdate(state, NULL, &written, context, (int)contextCount) == 1
      && EVP_EncryptUpdate(state, out, &written, plain, (int)plainCount) == 1
      && EVP_EncryptFinal_ex(state, out + plainCount, &written) == 1
      && EVP_CIPHER_CTX_ctrl(state, EVP_CTRL_AEAD_GET_TAG, LK_GCM_TAG_BYTES, out + plainCount) == 1;
  EVP_CIPHER_CTX_free(state);
  return lk_end(succeeded);
}

// `out` holds unauthenticated bytes until this function returns 0. After another result, the caller wipes it.
static inline unsigned long lk_open(
    const EVP_CIPHER *cipher, const uint8_t *key, const uint8_t *nonce, const uint8_t *context, size_t contextCount,
    const uint8_t *sealed, size_t plainCount, uint8_t *out) {
  int written = 0;
  lk_begin();
  if (plainCount > INT_MAX || contextCount > INT_MAX) return LK_NOT_REPORTED;
  EVP_CIPHER_CTX *state = EVP_CIPHER_CTX_new();
  int succeeded = state && EVP_DecryptInit_ex2(state, cipher, key, nonce, NULL) == 1
      && EVP_DecryptUpdate(state, NULL, &written, context, (int)contextCount) == 1
      && EVP_DecryptUpdate(state, out, &written, sealed, (int)plainCount) == 1
      && EVP_CIPHER_CTX_ctrl(state, EVP_CTRL_AEAD_SET_TAG, LK_GCM_TAG_BYTES, (void *)(sealed + plainCount)) == 1
      && EVP_DecryptFinal_ex(state, out + plainCount, &written) == 1;
  EVP_CIPHER_CTX_free(state);
  return lk_end(succeeded);
}

// MARK: Keys

static inline EVP_PKEY *lk_generate_ec(const char *group) {
  lk_begin();
  EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", group);
  lk_end(key != NULL);
  return key;
}

static inline EVP_PKEY *lk_generate_ed25519(void) {
  lk_begin();
  EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
  lk_end(key != NULL);
  return key;
}

static inline EVP_PKEY *lk_generate_rsa(size_t bits) {
  lk_begin();
  EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", bits);
  lk_end(key != NULL);
  return key;
}

// Returns the key. Frees it and returns NULL if its private and public halves do not match.
static inline EVP_PKEY *lk_if_pair(EVP_PKEY *key) {
  EVP_PKEY_CTX *check = key ? EVP_PKEY_CTX_new(key, NULL) : NULL;
  int isPair = check && EVP_PKEY_pairwise_check(check) == 1;
  EVP_PKEY_CTX_free(check);
  if (isPair) return key;
  EVP_PKEY_free(key);
  return NULL;
}

// Accepts only PKCS#8 without trailing bytes, because OpenSSL would guess at traditional encodings. The file may also
// contain a public half, which OpenSSL does not check. lk_if_pair rejects the public half of another key, because no
// verifier would accept the signatures.
static inline EVP_PKEY *lk_private_key_from_pkcs8(const uint8_t *bytes, size_t count) {
  const uint8_t *end = bytes;
  lk_begin();
  PKCS8_PRIV_KEY_INFO *info = count <= LONG_MAX ? d2i_PKCS8_PRIV_KEY_INFO(NULL, &end, (long)count) : NULL;
  EVP_PKEY *key = lk_if_pair(info && end == bytes + count ? EVP_PKCS82PKEY(info) : NULL);
  PKCS8_PRIV_KEY_INFO_free(info);
  lk_end(key != NULL);
  return key;
}

static inline EVP_PKEY *lk_private_key_from_pem(const uint8_t *bytes, size_t count) {
  lk_begin();
  BIO *source = count <= INT_MAX ? BIO_new_mem_buf(bytes, (int)count) : NULL;
  EVP_PKEY *key = lk_if_pair(source ? PEM_read_bio_PrivateKey(source, NULL, lk_no_passphrase, NULL) : NULL);
  BIO_free(source);
  lk_end(key != NULL);
  return key;
}

// The caller copies the bytes, then passes them to lk_wipe_and_free.
static inline uint8_t *lk_private_key_to_pkcs8(const EVP_PKEY *key, size_t *count) {
  uint8_t *bytes = NULL;
  lk_begin();
  PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
  int written = info ? i2d_PKCS8_PRIV_KEY_INFO(info, &bytes) : -1;
  PKCS8_PRIV_KEY_INFO_free(info);
  lk_end(written > 0);
  if (written <= 0) return NULL;
  *count = (size_t)written;
  return bytes;
}

static inline void lk_wipe_and_free(void *bytes, size_t count) {
  OPENSSL_clear_free(bytes, count);
}

static inline EVP_PKEY *lk_public_key_from_params(const char *type, OSSL_PARAM *params) {
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *import = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  if (import && params && EVP_PKEY_fromdata_init(import) == 1) {
    if (EVP_PKEY_fromdata(import, &key, EVP_PKEY_PUBLIC_KEY, params) != 1) key = NULL;
  }
  EVP_PKEY_CTX_free(import);
  return key;
}

static inline EVP_PKEY *lk_rsa_public_key(
    const uint8_t *modulus, size_t modulusCount, const uint8_t *exponent, size_t exponentCount) {
  EVP_PKEY *key = NULL;
  OSSL_PARAM *params = NULL;
  if (modulusCount > INT_MAX || exponentCount > INT_MAX) return NULL;
  lk_begin();
  BIGNUM *n = BN_bin2bn(modulus, (int)modulusCount, NULL);
  BIGNUM *e = BN_bin2bn(exponent, (int)exponentCount, NULL);
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  if (n && e && builder && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1
      && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1) {
    params = OSSL_PARAM_BLD_to_param(builder);
    key = lk_public_key_from_params("RSA", params);
  }
  OSSL_PARAM_free(params);
  OSSL_PARAM_BLD_free(builder);
  BN_free(n);
  BN_free(e);
  lk_end(key != NULL);
  return key;
}

// `point` is uncompressed (0x04, x, y). The import rejects a point that is not on the curve. For a cofactor of 1, SP
// 800-56A 5.6.2.3.3 requires no other check.
static inline EVP_PKEY *lk_ec_public_key(const char *group, const uint8_t *point, size_t pointCount) {
  OSSL_PARAM params[3];
  params[0] = OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)group, 0);
  params[1] = OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)point, pointCount);
  params[2] = OSSL_PARAM_construct_end();
  lk_begin();
  EVP_PKEY *key = lk_public_key_from_params("EC", params);
  lk_end(key != NULL);
  return key;
}

static inline EVP_PKEY *lk_ed25519_public_key(const uint8_t *bytes, size_t count) {
  lk_begin();
  EVP_PKEY *key = EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, bytes, count);
  lk_end(key != NULL);
  return key;
}

static inline int lk_key_is(const EVP_PKEY *key, const char *type) {
  return EVP_PKEY_is_a(key, type);
}

static inline int lk_key_bits(const EVP_PKEY *key) {
  return EVP_PKEY_get_bits(key);
}

static inline int lk_ec_group_is(const EVP_PKEY *key, const char *group) {
  char name[64];
  lk_begin();
  int read = EVP_PKEY_get_group_name(key, name, sizeof name, NULL);
  lk_end(read);
  return read == 1 && strcmp(name, group) == 0;
}

// Writes one number of a key ("n", "e", "qx", "qy"): big-endian, right-aligned in `count` bytes.
static inline unsigned long lk_key_number(const EVP_PKEY *key, const char *name, uint8_t *out, size_t count) {
  BIGNUM *number = NULL;
  lk_begin();
  int succeeded = count <= INT_MAX && EVP_PKEY_get_bn_param(key, name, &number) == 1
      && BN_bn2binpad(number, out, (int)count) == (int)count;
  BN_clear_free(number);
  return lk_end(succeeded);
}

static inline unsigned long lk_ed25519_public_bytes(const EVP_PKEY *key, uint8_t *out, size_t count) {
  lk_begin();
  int succeeded = EVP_PKEY_get_raw_public_key(key, out, &count) == 1;
  return lk_end(succeeded);
}

// MARK: Signatures over a digest
//
// OpenSSL 3 makes several look-ups by name to set up a context. Each key therefore keeps one context for each use as a
// template. A call copies the template and uses the copy. Copying only reads the template, so any thread may do it.

static inline EVP_PKEY_CTX *lk_signature_template(EVP_PKEY *key, const EVP_MD *digest, int signing, int pss) {
  lk_begin();
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
  int succeeded = context && (signing ? EVP_PKEY_sign_init(context) : EVP_PKEY_verify_init(context)) == 1;
  if (succeeded && EVP_PKEY_is_a(key, "RSA")) {
    succeeded = EVP_PKEY_CTX_set_rsa_padding(context, pss ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING) == 1;
  }
  succeeded = succeeded && EVP_PKEY_CTX_set_signature_md(context, digest) == 1;
  // RFC 7518 3.5: the mask uses the same hash, and the salt is as long as its output.
  if (succeeded && pss) {
    succeeded = EVP_PKEY_CTX_set_rsa_mgf1_md(context, digest) == 1
        && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
  }
  if (!succeeded) {
    EVP_PKEY_CTX_free(context);
    context = NULL;
  }
  lk_end(succeeded);
  return context;
}

static inline unsigned long lk_sign_digest(
    const EVP_PKEY_CTX *template_, const uint8_t *digest, size_t digestCount, uint8_t *out, size_t *outCount) {
  lk_begin();
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_dup(template_);
  int succeeded = context && EVP_PKEY_sign(context, out, outCount, digest, digestCount) == 1;
  EVP_PKEY_CTX_free(context);
  return lk_end(succeeded);
}

static inline unsigned long lk_verify_digest(
    const EVP_PKEY_CTX *template_, const uint8_t *digest, size_t digestCount, const uint8_t *signature,
    size_t signatureCount) {
  lk_begin();
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_dup(template_);
  int succeeded = context && EVP_PKEY_verify(context, signature, signatureCount, digest, digestCount) == 1;
  EVP_PKEY_CTX_free(context);
  return lk_end(succeeded);
}

// Converts an ECDSA signature from the JOSE form (RFC 7518 3.4), r and s of fixed width, to the DER sequence that
// OpenSSL reads. `out` has room for LK_SIGNATURE_BYTES_MAX bytes.
static inline unsigned long lk_ecdsa_raw_to_der(
    const uint8_t *raw, size_t coordinateCount, uint8_t *out, size_t *outCount) {
  lk_begin();
  ECDSA_SIG *signature = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(raw, (int)coordinateCount, NULL);
  BIGNUM *s = BN_bin2bn(raw + coordinateCount, (int)coordinateCount, NULL);
  int written = 0;
  if (signature && r && s && ECDSA_SIG_set0(signature, r, s) == 1) {
    r = s = NULL;
    int needed = i2d_ECDSA_SIG(signature, NULL);
    written = needed > 0 && needed <= LK_SIGNATURE_BYTES_MAX ? i2d_ECDSA_SIG(signature, &out) : 0;
  }
  ECDSA_SIG_free(signature);
  BN_free(r);
  BN_free(s);
  *outCount = written > 0 ? (size_t)written : 0;
  return lk_end(written > 0);
}

// Converts in the other direction. `out` receives r and s, each of `coordinateCount` bytes.
static inline unsigned long lk_ecdsa_der_to_raw(
    const uint8_t *der, size_t count, size_t coordinateCount, uint8_t *out) {
  lk_begin();
  const int width = (int)coordinateCount;
  ECDSA_SIG *signature = count <= LONG_MAX ? d2i_ECDSA_SIG(NULL, &der, (long)count) : NULL;
  int succeeded = signature && BN_bn2binpad(ECDSA_SIG_get0_r(signature), out, width) == width
      && BN_bn2binpad(ECDSA_SIG_get0_s(signature), out + width, width) == width;
  ECDSA_SIG_free(signature);
  return lk_end(succeeded);
}

// MARK: Ed25519, which hashes the message itself and takes no digest (RFC 8032 5.1.6)

static inline unsigned long lk_ed25519_sign(
    EVP_PKEY *key, const uint8_t *message, size_t count, uint8_t *out, size_t outCount) {
  lk_begin();
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  int succeeded = context && EVP_DigestSignInit_ex(context, NULL, NULL, NULL, NULL, key, NULL) == 1
      && EVP_DigestSign(context, out, &outCount, message, count) == 1;
  EVP_MD_CTX_free(context);
  return lk_end(succeeded);
}

static inline unsigned long lk_ed25519_verify(
    EVP_PKEY *key, const uint8_t *message, size_t count, const uint8_t *signature, size_t signatureCount) {
  lk_begin();
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  int succeeded = context && EVP_DigestVerifyInit_ex(context, NULL, NULL, NULL, NULL, key, NULL) == 1
      && EVP_DigestVerify(context, signature, signatureCount, message, count) == 1;
  EVP_MD_CTX_free(context);
  return lk_end(succeeded);
}
