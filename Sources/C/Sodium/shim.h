// libsodium provides Argon2id (RFC 9106), about twice as fast as the distribution's libargon2. It also provides
// HMAC-SHA-256, with a state that is made once for each key, base64 and hexadecimal.
#pragma once
#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

// A comparison returns 0 for a match, 1 for a wrong password or a text that is not a hash, or this value.
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

// Reads the parameters of a hash with `format`. Returns the text after them (salt and hash), or NULL if the hash has
// another format.
static inline const char *lk_argon2_read(const char *phc, const char *format, struct lk_argon2_cost *cost) {
  int end = 0;
  int count = sscanf(phc, format, &cost->memoryKiB, &cost->iterations, &cost->lanes, &end);
  return count == 3 && end > 0 ? phc + end : NULL;
}

// libsodium 1.0.18 reports a lack of memory as a wrong password, so this function asks the kernel first.
static inline bool lk_has_memory(size_t bytes) {
  void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped != MAP_FAILED && munmap(mapped, bytes) == 0;
}

static inline int lk_argon2_compare(
    int (*compare)(const char *, const char *, unsigned long long), const char *phc, unsigned long memoryKiB,
    const uint8_t *password, size_t count) {
  if (memoryKiB > 0 && memoryKiB <= UINT32_MAX && !lk_has_memory(memoryKiB * 1024)) return LK_NO_MEMORY;
  return compare(phc, (const char *)password, count) == 0 ? 0 : 1;
}

// Recomputes hashes with one lane and 16 bytes of salt, as all of ours have. Unlike libsodium's own comparison, this
// distinguishes a lack of memory from a wrong password.
static inline int lk_argon2id_verify(const char *phc, const uint8_t *password, size_t count) {
  struct lk_argon2_cost cost = {0};
  uint8_t salt[crypto_pwhash_argon2id_SALTBYTES], hash[64], made[sizeof hash];
  size_t saltCount = 0, hashCount = 0;
  const int variant = sodium_base64_VARIANT_ORIGINAL_NO_PADDING;
  const char *text = lk_argon2_read(phc, "$argon2id$v=19$m=%10lu,t=%10lu,p=%10lu$%n", &cost);
  bool isUsual = text && cost.lanes == 1
      && sodium_base642bin(salt, sizeof salt, text, strlen(text), NULL, &saltCount, &text, variant) == 0
      && saltCount == sizeof salt && *text == '$'
      && sodium_base642bin(hash, sizeof hash, text + 1, strlen(text + 1), NULL, &hashCount, NULL, variant) == 0
      && hashCount >= crypto_pwhash_argon2id_BYTES_MIN;
  if (!isUsual) return lk_argon2_compare(crypto_pwhash_argon2id_str_verify, phc, cost.memoryKiB, password, count);
  errno = 0;
  int failed = crypto_pwhash_argon2id(
      made, hashCount, (const char *)password, count, salt, cost.iterations, cost.memoryKiB * 1024,
      crypto_pwhash_argon2id_ALG_ARGON2ID13);
  // libsodium sets one of these two for parameters that it rejects.
  if (failed) return errno == EINVAL || errno == EFBIG ? 1 : LK_NO_MEMORY;
  return sodium_memcmp(made, hash, hashCount) == 0 ? 0 : 1;
}

static inline int lk_argon2id_needs_rehash(const char *phc, uint64_t iterations, size_t memoryKiB) {
  return crypto_pwhash_argon2id_str_needs_rehash(phc, iterations, memoryKiB * 1024);
}

// Verifies passwords that another service hashed. libsodium has no Argon2d.
static inline int lk_argon2i_verify(const char *phc, const uint8_t *password, size_t count) {
  struct lk_argon2_cost cost = {0};
  lk_argon2_read(phc, "$argon2i$v=19$m=%10lu,t=%10lu,p=%10lu$%n", &cost);
  return lk_argon2_compare(crypto_pwhash_argon2i_str_verify, phc, cost.memoryKiB, password, count);
}

// Encodings, with text as bytes. `room` includes the zero byte that libsodium writes after the text.
static inline void lk_base64_encode(uint8_t *text, size_t room, const uint8_t *bytes, size_t count, int variant) {
  sodium_bin2base64((char *)text, room, bytes, count, variant);
}

static inline void lk_hex_encode(uint8_t *text, size_t room, const uint8_t *bytes, size_t count) {
  sodium_bin2hex((char *)text, room, bytes, count);
}

// Returns whether all of the text is base64 in whole groups of four. The caller must reject bytes above 127 before:
// libsodium 1.0.18 accepts each of them as a character of the alphabet.
static inline bool lk_base64_decode(uint8_t *bytes, size_t room, const uint8_t *text, size_t count) {
  return sodium_base642bin(
      bytes, room, (const char *)text, count, NULL, NULL, NULL, sodium_base64_VARIANT_ORIGINAL) == 0;
}

// Returns whether all of the text is hexadecimal digits, in pairs.
static inline bool lk_hex_decode(uint8_t *bytes, size_t room, const uint8_t *text, size_t count) {
  return sodium_hex2bin(bytes, room, (const char *)text, count, NULL, NULL, NULL) == 0;
}
