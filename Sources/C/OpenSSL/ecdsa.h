// ECDSA signatures, alone or many together, past the providers of OpenSSL (2 us each; deprecated and kept, as in
// direct.h).
//
// Half of a P-256 signature are two inversions, of its one-time number k (modulo the order of the curve) and of the
// point's Z (modulo the prime). Many numbers are inverted at the price of one and three multiplications each
// (Montgomery, Mathematics of Computation 48 (1987), 10.3.1), which takes a signature from 19 us to 11. All of it is
// done while the messages are known: k comes of key, message and randomness, as OpenSSL draws it, so nothing that was
// made ahead can be used twice, be it by a copy of the whole machine.
#pragma once
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include "crypto_shim.h"

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

#define LK_SIGNATURES_MAX 64

// A field of numbers: its modulus, that less 2, and its form of Montgomery.
typedef struct {
  const BIGNUM *modulus;
  BIGNUM *exponent;
  BN_MONT_CTX *mont;
} lk_field;

// A key that signs, and what its curve needs. Only read once it is made: any thread may use it.
typedef struct {
  EC_KEY *key;
  lk_field order, prime;
} lk_ec_signer;

static inline int lk_field_set(lk_field *field, const BIGNUM *modulus, BN_CTX *scratch) {
  field->modulus = modulus;
  field->exponent = BN_dup(modulus);
  field->mont = BN_MONT_CTX_new();
  return field->exponent && field->mont && BN_sub_word(field->exponent, 2)
      && BN_MONT_CTX_set(field->mont, modulus, scratch);
}

static inline void lk_field_clear(lk_field *field) {
  BN_free(field->exponent);
  BN_MONT_CTX_free(field->mont);
}

static inline void lk_ec_signer_free(lk_ec_signer *signer) {
  if (!signer) return;
  lk_field_clear(&signer->order);
  lk_field_clear(&signer->prime);
  EC_KEY_free(signer->key);
  OPENSSL_free(signer);
}

static inline lk_ec_signer *lk_ec_signer_new(EVP_PKEY *pkey) {
  lk_begin();
  lk_ec_signer *signer = (lk_ec_signer *)OPENSSL_zalloc(sizeof *signer);
  BN_CTX *scratch = BN_CTX_new();
  int succeeded = signer && scratch && (signer->key = EVP_PKEY_get1_EC_KEY(pkey)) != NULL;
  if (succeeded) {
    const EC_GROUP *group = EC_KEY_get0_group(signer->key);
    succeeded = lk_field_set(&signer->order, EC_GROUP_get0_order(group), scratch)
        && lk_field_set(&signer->prime, EC_GROUP_get0_field(group), scratch);
  }
  BN_CTX_free(scratch);
  if (lk_end(succeeded) == 0) return signer;
  lk_ec_signer_free(signer);
  return NULL;
}

// The raw form of RFC 7518 3.4: r and s, each `width` bytes. Consumes the signature.
static inline int lk_ecdsa_put(ECDSA_SIG *signature, uint8_t *out, size_t width) {
  int bytes = (int)width;
  int succeeded = signature && BN_bn2binpad(ECDSA_SIG_get0_r(signature), out, bytes) == bytes
      && BN_bn2binpad(ECDSA_SIG_get0_s(signature), out + width, bytes) == bytes;
  ECDSA_SIG_free(signature);
  return succeeded;
}

static inline unsigned long lk_ecdsa_sign(
    const lk_ec_signer *signer, const uint8_t *digest, size_t digestCount, uint8_t *out, size_t width) {
  lk_begin();
  return lk_end(lk_ecdsa_put(ECDSA_do_sign(digest, (int)digestCount, signer->key), out, width));
}

// MARK: Many together

static inline int lk_new_numbers(BIGNUM **numbers, size_t count, BN_CTX *scratch) {
  for (size_t i = 0; i < count; i++) {
    if (!(numbers[i] = BN_CTX_get(scratch))) return 0;
  }
  return 1;
}

// Each number, none of which is 0, becomes its inverse; both are in the form of Montgomery. The one inversion is
// Fermat's, in constant time, and of a product that nobody knows a factor of.
static inline int lk_invert_all(BIGNUM **numbers, size_t count, const lk_field *field, BN_CTX *scratch) {
  BIGNUM *products[LK_SIGNATURES_MAX];
  BN_CTX_start(scratch);
  BIGNUM *inverse = BN_CTX_get(scratch);
  int succeeded = inverse && lk_new_numbers(products, count, scratch) && BN_copy(products[0], numbers[0]);
  for (size_t i = 1; succeeded && i < count; i++) {
    succeeded = BN_mod_mul_montgomery(products[i], products[i - 1], numbers[i], field->mont, scratch);
  }
  succeeded = succeeded && BN_from_montgomery(inverse, products[count - 1], field->mont, scratch)
      && BN_mod_exp_mont_consttime(inverse, inverse, field->exponent, field->modulus, scratch, field->mont)
      && BN_to_montgomery(inverse, inverse, field->mont, scratch);
  // `inverse` is that of the product of the numbers up to this one.
  for (size_t i = count - 1; succeeded && i > 0; i--) {
    succeeded = BN_mod_mul_montgomery(products[i], inverse, products[i - 1], field->mont, scratch)
        && BN_mod_mul_montgomery(inverse, inverse, numbers[i], field->mont, scratch)
        && BN_copy(numbers[i], products[i]);
  }
  succeeded = succeeded && BN_copy(numbers[0], inverse);
  BN_CTX_end(scratch);
  return succeeded;
}

// Of each one-time number its inverse and r, the affine x of its point: x = X / Z^2 in Jacobian coordinates.
static inline int lk_ecdsa_prepare(
    const lk_ec_signer *signer, const uint8_t *digests, size_t digestCount, size_t count, BIGNUM **inverses,
    BIGNUM **rs, BN_CTX *scratch) {
  const EC_GROUP *group = EC_KEY_get0_group(signer->key);
  const BIGNUM *secret = EC_KEY_get0_private_key(signer->key);
  const lk_field *order = &signer->order, *prime = &signer->prime;
  BIGNUM *depths[LK_SIGNATURES_MAX];
  EC_POINT *point = EC_POINT_new(group);
  int succeeded = point && lk_new_numbers(depths, count, scratch);
  for (size_t i = 0; succeeded && i < count; i++) {
    const uint8_t *digest = digests + i * digestCount;
    BIGNUM *number = inverses[i];
    succeeded = BN_generate_dsa_nonce(number, order->modulus, secret, digest, digestCount, scratch)
        && !BN_is_zero(number) && EC_POINT_mul(group, point, number, NULL, NULL, scratch)
        && EC_POINT_get_Jprojective_coordinates_GFp(group, point, rs[i], NULL, depths[i], scratch)
        && !BN_is_zero(depths[i]) && BN_to_montgomery(number, number, order->mont, scratch)
        && BN_to_montgomery(depths[i], depths[i], prime->mont, scratch);
  }
  EC_POINT_clear_free(point);
  succeeded = succeeded && lk_invert_all(inverses, count, order, scratch)
      && lk_invert_all(depths, count, prime, scratch);
  for (size_t i = 0; succeeded && i < count; i++) {
    succeeded = BN_from_montgomery(inverses[i], inverses[i], order->mont, scratch)
        && BN_mod_mul_montgomery(depths[i], depths[i], depths[i], prime->mont, scratch)
        && BN_mod_mul_montgomery(rs[i], rs[i], depths[i], prime->mont, scratch)
        && BN_nnmod(rs[i], rs[i], order->modulus, scratch) && !BN_is_zero(rs[i]);
  }
  return succeeded;
}

// 1 to LK_SIGNATURES_MAX digests, one behind the other, and so the signatures. BN_CTX_free wipes what was between.
static inline unsigned long lk_ecdsa_sign_all(
    const lk_ec_signer *signer, const uint8_t *digests, size_t digestCount, size_t count, uint8_t *out, size_t width) {
  BIGNUM *inverses[LK_SIGNATURES_MAX], *rs[LK_SIGNATURES_MAX];
  lk_begin();
  BN_CTX *scratch = BN_CTX_new();
  int succeeded = scratch != NULL && count > 0 && count <= LK_SIGNATURES_MAX;
  if (scratch) BN_CTX_start(scratch);
  succeeded = succeeded && lk_new_numbers(inverses, count, scratch) && lk_new_numbers(rs, count, scratch)
      && lk_ecdsa_prepare(signer, digests, digestCount, count, inverses, rs, scratch);
  for (size_t i = 0; succeeded && i < count; i++) {
    succeeded = lk_ecdsa_put(
        ECDSA_do_sign_ex(digests + i * digestCount, (int)digestCount, inverses[i], rs[i], signer->key),
        out + i * 2 * width, width);
  }
  if (scratch) BN_CTX_end(scratch);
  BN_CTX_free(scratch);
  return lk_end(succeeded);
}

#pragma clang diagnostic pop
