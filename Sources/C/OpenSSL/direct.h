// SHA-256 and its HMAC, past the providers of OpenSSL: of an HMAC of 40 bytes their contexts and look-ups are 0.77 us,
// the HMAC itself is 0.12. OpenSSL 3 deprecates this road and keeps it; the rest of libcrypto, but for ecdsa.h, is used
// the new way. Nothing here can fail: all that it needs is on the stack or the caller's.
#pragma once
#include <openssl/sha.h>
#include "crypto_shim.h"

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

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

#pragma clang diagnostic pop
