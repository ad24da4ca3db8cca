// The public key of a passkey.
#pragma once
#include <fido.h>
#include <fido/eddsa.h>
#include <fido/es256.h>
#include <fido/rs256.h>
#include <stdint.h>

// The largest of libfido2's keys: a modulus of 2,048 bits, and an exponent.
#define LK_PASSKEY_BYTES_MAX 259

// A key in the form that libfido2 verifies with. All NULL: the bytes are no key of the algorithm, or no memory is left.
struct lk_passkey {
  es256_pk_t *es256;
  eddsa_pk_t *eddsa;
  rs256_pk_t *rs256;
};

static inline void lk_passkey_close(struct lk_passkey *key) {
  es256_pk_free(&key->es256);
  eddsa_pk_free(&key->eddsa);
  rs256_pk_free(&key->rs256);
}

static inline struct lk_passkey lk_passkey_open(int algorithm, const uint8_t *bytes, size_t count) {
  struct lk_passkey key = {NULL, NULL, NULL};
  int good = 0;
  if (algorithm == COSE_ES256 && count == 64) {
    good = (key.es256 = es256_pk_new()) && es256_pk_from_ptr(key.es256, bytes, count) == FIDO_OK;
  } else if (algorithm == COSE_EDDSA && count == 32) {
    good = (key.eddsa = eddsa_pk_new()) && eddsa_pk_from_ptr(key.eddsa, bytes, count) == FIDO_OK;
  } else if (algorithm == COSE_RS256 && count == LK_PASSKEY_BYTES_MAX) {
    good = (key.rs256 = rs256_pk_new()) && rs256_pk_from_ptr(key.rs256, bytes, count) == FIDO_OK;
  }
  if (!good) lk_passkey_close(&key);
  return key;
}

static inline const void *lk_passkey_bytes(const struct lk_passkey *key) {
  return key->es256 ? (const void *)key->es256 : key->eddsa ? (const void *)key->eddsa : (const void *)key->rs256;
}
