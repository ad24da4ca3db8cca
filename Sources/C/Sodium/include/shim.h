// libsodium, which Latchkey uses for Argon2id alone (RFC 9106): about twice as fast as the distribution's libargon2.
#pragma once
#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "memory.h"

// Of a comparison: 0 says that the password matches, 1 that it does not or that the text is no hash.
#define LK_NO_MEMORY (-1)

// libsodium counts memory in bytes, and its Argon2id strings always have one lane.
static inline int lk_argon2id_hash(
    uint8_t *out, const uint8_t *password, size_t count, uint64_t iterations, size_t memoryKiB) {
  lk_hash_memory_begin();
  int failed = crypto_pwhash_str_alg(
      (char *)out, (const char *)password, count, iterations, memoryKiB * 1024, crypto_pwhash_ALG_ARGON2ID13);
  lk_hash_memory_end();
  return failed;
}

struct lk_argon2_cost {
  unsigned long memoryKiB, iterations, lanes;
};

// What follows the parameters of an Argon2id hash of version 19: salt and hash. NULL: it is none.
static inline const char *lk_argon2id_read(const char *phc, struct lk_argon2_cost *cost) {
  int end = 0;
  int count = sscanf(
      phc, "$argon2id$v=19$m=%10lu,t=%10lu,p=%10lu$%n", &cost->memoryKiB, &cost->iterations, &cost->lanes, &end);
  return count == 3 && end > 0 ? phc + end : NULL;
}

// What libsodium's own comparison comes to. A password that it has no memory to hash it calls a wrong one (1.0.18).
static inline int lk_argon2_compare(
    int (*compare)(const char *, const char *, unsigned long long), const char *phc, const uint8_t *password,
    size_t count) {
  errno = 0;
  lk_hash_memory_begin();
  int failed = compare(phc, (const char *)password, count);
  int error = errno;
  if (!lk_hash_memory_end() || (failed && error == ENOMEM)) return LK_NO_MEMORY;
  return failed ? 1 : 0;
}

// A hash with one lane and 16 bytes of salt, as all of ours are, is made again, which tells a lack of memory from a
// wrong password.
static inline int lk_argon2id_verify(const char *phc, const uint8_t *password, size_t count) {
  struct lk_argon2_cost cost;
  uint8_t salt[crypto_pwhash_argon2id_SALTBYTES], hash[64], made[sizeof hash];
  size_t saltCount = 0, hashCount = 0;
  const int variant = sodium_base64_VARIANT_ORIGINAL_NO_PADDING;
  const char *text = lk_argon2id_read(phc, &cost);
  bool isUsual = text && cost.lanes == 1
      && sodium_base642bin(salt, sizeof salt, text, strlen(text), NULL, &saltCount, &text, variant) == 0
      && saltCount == sizeof salt && *text == '$'
      && sodium_base642bin(hash, sizeof hash, text + 1, strlen(text + 1), NULL, &hashCount, NULL, variant) == 0
      && hashCount >= crypto_pwhash_argon2id_BYTES_MIN;
  if (!isUsual) return lk_argon2_compare(crypto_pwhash_argon2id_str_verify, phc, password, count);
  errno = 0;
  lk_hash_memory_begin();
  int failed = crypto_pwhash_argon2id(
      made, hashCount, (const char *)password, count, salt, cost.iterations, cost.memoryKiB * 1024,
      crypto_pwhash_argon2id_ALG_ARGON2ID13);
  int error = errno;
  lk_hash_memory_end();
  // Parameters that it does not take are these two.
  if (failed) return error == EINVAL || error == EFBIG ? 1 : LK_NO_MEMORY;
  return sodium_memcmp(made, hash, hashCount) == 0 ? 0 : 1;
}

static inline int lk_argon2id_needs_rehash(const char *phc, uint64_t iterations, size_t memoryKiB) {
  return crypto_pwhash_argon2id_str_needs_rehash(phc, iterations, memoryKiB * 1024);
}

// Of passwords that another service hashed; libsodium has no Argon2d.
static inline int lk_argon2i_verify(const char *phc, const uint8_t *password, size_t count) {
  return lk_argon2_compare(crypto_pwhash_argon2i_str_verify, phc, password, count);
}
