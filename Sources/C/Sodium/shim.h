// libsodium, which Latchkey uses for Argon2id alone (RFC 9106): about twice as fast as the distribution's libargon2.
#pragma once
#include <sodium.h>
#include <stdint.h>

// libsodium counts memory in bytes, and its Argon2id strings always have one lane.
static inline int lk_argon2id_hash(
    uint8_t *out, const uint8_t *password, size_t count, uint64_t iterations, size_t memoryKiB) {
  return crypto_pwhash_str_alg(
      (char *)out, (const char *)password, count, iterations, memoryKiB * 1024, crypto_pwhash_ALG_ARGON2ID13);
}

static inline int lk_argon2id_verify(const char *phc, const uint8_t *password, size_t count) {
  return crypto_pwhash_argon2id_str_verify(phc, (const char *)password, count);
}

static inline int lk_argon2id_needs_rehash(const char *phc, uint64_t iterations, size_t memoryKiB) {
  return crypto_pwhash_argon2id_str_needs_rehash(phc, iterations, memoryKiB * 1024);
}

// Of passwords that another service hashed; libsodium has no Argon2d.
static inline int lk_argon2i_verify(const char *phc, const uint8_t *password, size_t count) {
  return crypto_pwhash_argon2i_str_verify(phc, (const char *)password, count);
}
