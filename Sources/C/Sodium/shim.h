// libsodium, which Latchkey uses for Argon2id alone (RFC 9106): about twice as fast as the distribution's libargon2.
#pragma once
#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

// Of a comparison: 0 says that the password matches, 1 that it does not or that the text is no hash.
#define LK_NO_MEMORY (-1)

// libsodium counts memory in bytes, and its Argon2id strings always have one lane.
static inline int lk_argon2id_hash(
    uint8_t *out, const uint8_t *password, size_t count, uint64_t iterations, size_t memoryKiB) {
  return crypto_pwhash_str_alg(
      (char *)out, (const char *)password, count, iterations, memoryKiB * 1024, crypto_pwhash_ALG_ARGON2ID13);
}

struct lk_argon2_cost {
  unsigned long memoryKiB, iterations, lanes;
};

// What follows the parameters of a hash of this kind (i, id) and of version 19: salt and hash. NULL: it is none.
static inline const char *lk_argon2_read(const char *phc, const char *kind, struct lk_argon2_cost *cost) {
  char found[3];
  int end = 0;
  int count = sscanf(
      phc, "$argon2%2[id]$v=19$m=%10lu,t=%10lu,p=%10lu$%n", found, &cost->memoryKiB, &cost->iterations, &cost->lanes,
      &end);
  return count == 4 && end > 0 && strcmp(found, kind) == 0 ? phc + end : NULL;
}

// What libsodium's own comparison came to. A password that it has no memory to hash it calls a wrong one (1.0.18), so
// that whether there is as much is asked then.
static inline int lk_argon2_judge(int failed, const char *phc, const char *kind) {
  struct lk_argon2_cost cost;
  if (!failed) return 0;
  if (errno == ENOMEM) return LK_NO_MEMORY;
  if (errno != EINVAL || !lk_argon2_read(phc, kind, &cost)) return 1;
  size_t bytes = cost.memoryKiB * 1024;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return LK_NO_MEMORY;
  munmap(memory, bytes);
  return 1;
}

// A hash with one lane and 16 bytes of salt, as all of ours are, is made again, which tells a lack of memory from a
// wrong password.
static inline int lk_argon2id_verify(const char *phc, const uint8_t *password, size_t count) {
  struct lk_argon2_cost cost;
  uint8_t salt[crypto_pwhash_argon2id_SALTBYTES], hash[64], made[sizeof hash];
  size_t saltCount = 0, hashCount = 0;
  const int variant = sodium_base64_VARIANT_ORIGINAL_NO_PADDING;
  const char *text = lk_argon2_read(phc, "id", &cost);
  bool isUsual = text && cost.lanes == 1
      && sodium_base642bin(salt, sizeof salt, text, strlen(text), NULL, &saltCount, &text, variant) == 0
      && saltCount == sizeof salt && *text == '$'
      && sodium_base642bin(hash, sizeof hash, text + 1, strlen(text + 1), NULL, &hashCount, NULL, variant) == 0
      && hashCount >= crypto_pwhash_argon2id_BYTES_MIN;
  errno = 0;
  if (!isUsual) {
    int failed = crypto_pwhash_argon2id_str_verify(phc, (const char *)password, count);
    return lk_argon2_judge(failed, phc, "id");
  }
  int failed = crypto_pwhash_argon2id(
      made, hashCount, (const char *)password, count, salt, cost.iterations, cost.memoryKiB * 1024,
      crypto_pwhash_argon2id_ALG_ARGON2ID13);
  // Parameters that it does not take are these two.
  if (failed) return errno == EINVAL || errno == EFBIG ? 1 : LK_NO_MEMORY;
  return sodium_memcmp(made, hash, hashCount) == 0 ? 0 : 1;
}

static inline int lk_argon2id_needs_rehash(const char *phc, uint64_t iterations, size_t memoryKiB) {
  return crypto_pwhash_argon2id_str_needs_rehash(phc, iterations, memoryKiB * 1024);
}

// Of passwords that another service hashed; libsodium has no Argon2d.
static inline int lk_argon2i_verify(const char *phc, const uint8_t *password, size_t count) {
  errno = 0;
  int failed = crypto_pwhash_argon2i_str_verify(phc, (const char *)password, count);
  return lk_argon2_judge(failed, phc, "i");
}
