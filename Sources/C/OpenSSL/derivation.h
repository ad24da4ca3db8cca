// Algorithms behind password hashes that another service made.
#pragma once
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include "crypto_shim.h"

static inline unsigned long lk_scrypt(
    const uint8_t *password, size_t passwordCount, const uint8_t *salt, size_t saltCount, uint64_t n, uint64_t r,
    uint64_t p, uint64_t memoryMax, uint8_t *out, size_t outCount) {
  lk_begin();
  return lk_end(
      EVP_PBE_scrypt((const char *)password, passwordCount, salt, saltCount, n, r, p, memoryMax, out, outCount) == 1);
}

static inline unsigned long lk_pbkdf2(
    const EVP_MD *digest, const uint8_t *password, size_t passwordCount, const uint8_t *salt, size_t saltCount,
    int iterations, uint8_t *out, size_t outCount) {
  lk_begin();
  if (passwordCount > INT_MAX || saltCount > INT_MAX || outCount > INT_MAX) return LK_NOT_REPORTED;
  return lk_end(
      PKCS5_PBKDF2_HMAC(
          (const char *)password, (int)passwordCount, salt, (int)saltCount, iterations, digest, (int)outCount, out)
      == 1);
}

// The counter starts at zero, so use each `key` for only one message.
static inline unsigned long lk_aes_256_ctr(
    const EVP_CIPHER *cipher, const uint8_t *key, const uint8_t *plain, size_t count, uint8_t *out) {
  static const uint8_t counter[16] = {0};
  int written = 0;
  lk_begin();
  if (count > INT_MAX) return LK_NOT_REPORTED;
  EVP_CIPHER_CTX *state = EVP_CIPHER_CTX_new();
  int succeeded = state && EVP_EncryptInit_ex2(state, cipher, key, counter, NULL) == 1
      && EVP_EncryptUpdate(state, out, &written, plain, (int)count) == 1 && written == (int)count;
  EVP_CIPHER_CTX_free(state);
  return lk_end(succeeded);
}
