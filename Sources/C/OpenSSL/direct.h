// What every call does, past the providers of OpenSSL: of an HMAC of 40 bytes their contexts and look-ups are 0.77 us,
// the HMAC itself is 0.12; of an ECDSA signature they are 2 us of 26. OpenSSL 3 deprecates this road and keeps it; the
// rest of libcrypto is used the new way.
#pragma once
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include "crypto_shim.h"

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

// MARK: SHA-256 and its HMAC, which cannot fail: all they need is on the stack or the caller's

static inline void lk_sha256(const uint8_t *bytes, size_t count, uint8_t *out) {
  SHA256_CTX state;
  SHA256_Init(&state);
  SHA256_Update(&state, bytes, count);
  SHA256_Final(out, &state);
  OPENSSL_cleanse(&state, sizeof state);
}

// The two blocks of a key are hashed once and not with each message (RFC 2104, section 4).
typedef struct {
  SHA256_CTX inner, outer;
} lk_hmac_key;

static inline void lk_hmac_key_set(lk_hmac_key *made, const uint8_t *key, size_t count) {
  uint8_t block[SHA256_CBLOCK] = {0};
  if (count > sizeof block) {
    lk_sha256(key, count, block);
  } else if (count > 0) {
    memcpy(block, key, count);
  }
  for (size_t i = 0; i < sizeof block; i++) block[i] ^= 0x36;
  SHA256_Init(&made->inner);
  SHA256_Update(&made->inner, block, sizeof block);
  for (size_t i = 0; i < sizeof block; i++) block[i] ^= 0x36 ^ 0x5c;
  SHA256_Init(&made->outer);
  SHA256_Update(&made->outer, block, sizeof block);
  OPENSSL_cleanse(block, sizeof block);
}

static inline void lk_hmac_sha256(const lk_hmac_key *key, const uint8_t *bytes, size_t count, uint8_t *out) {
  uint8_t inside[SHA256_DIGEST_LENGTH];
  SHA256_CTX state = key->inner;
  SHA256_Update(&state, bytes, count);
  SHA256_Final(inside, &state);
  state = key->outer;
  SHA256_Update(&state, inside, sizeof inside);
  SHA256_Final(out, &state);
  OPENSSL_cleanse(&state, sizeof state);
  OPENSSL_cleanse(inside, sizeof inside);
}

// MARK: ECDSA

static inline EC_KEY *lk_ec_signer(EVP_PKEY *key) {
  lk_begin();
  EC_KEY *signer = EVP_PKEY_get1_EC_KEY(key);
  lk_end(signer != NULL);
  return signer;
}

static inline void lk_ec_signer_free(EC_KEY *signer) { EC_KEY_free(signer); }

// The raw form of RFC 7518 3.4: r and s, each `coordinateCount` bytes.
static inline unsigned long lk_ecdsa_sign(
    EC_KEY *signer, const uint8_t *digest, size_t digestCount, uint8_t *out, size_t coordinateCount) {
  int width = (int)coordinateCount;
  lk_begin();
  ECDSA_SIG *signature = ECDSA_do_sign(digest, (int)digestCount, signer);
  int succeeded = signature && BN_bn2binpad(ECDSA_SIG_get0_r(signature), out, width) == width
      && BN_bn2binpad(ECDSA_SIG_get0_s(signature), out + width, width) == width;
  ECDSA_SIG_free(signature);
  return lk_end(succeeded);
}

#pragma clang diagnostic pop
