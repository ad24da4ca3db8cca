// The signature of an assertion (WebAuthn 7.2).
#pragma once
#include "authenticator_data.h"
#include "passkey.h"
#include <openssl/err.h>

enum LkAssertionOutcome {
  LK_ASSERTION_VERIFIED,
  LK_ASSERTION_NO_MEMORY,
  // The key is not one of its algorithm.
  LK_ASSERTION_KEY,
  LK_ASSERTION_SIGNATURE,
};

// Verifies the signature over authenticator data that `lk_authenticator_data` accepts.
static inline enum LkAssertionOutcome lk_assertion(
    const char *rp_id, int algorithm, const uint8_t *key_bytes, size_t key_count, const uint8_t *data, size_t count,
    struct LkExtensions extensions, const uint8_t *client_data_hash, const uint8_t *signature, size_t signature_count) {
  struct lk_passkey key = lk_passkey_open(algorithm, key_bytes, key_count);
  if (!lk_passkey_bytes(&key)) return LK_ASSERTION_KEY;
  enum LkAssertionOutcome outcome = LK_ASSERTION_NO_MEMORY;
  fido_assert_t *assertion = fido_assert_new();
  if (assertion && fido_assert_set_count(assertion, 1) == FIDO_OK &&
      fido_assert_set_rp(assertion, rp_id) == FIDO_OK &&
      fido_assert_set_clientdata_hash(assertion, client_data_hash, 32) == FIDO_OK) {
    outcome = LK_ASSERTION_SIGNATURE;
    if (fido_assert_set_authdata_raw(assertion, 0, data, count) == FIDO_OK &&
        fido_assert_set_sig(assertion, 0, signature, signature_count) == FIDO_OK &&
        fido_assert_set_extensions(assertion, extensions.mask) == FIDO_OK &&
        fido_assert_set_up(assertion, FIDO_OPT_TRUE) == FIDO_OK &&
        fido_assert_verify(assertion, 0, algorithm, lk_passkey_bytes(&key)) == FIDO_OK) {
      outcome = LK_ASSERTION_VERIFIED;
    }
  }
  fido_assert_free(&assertion);
  lk_passkey_close(&key);
  // libssl would read an error that stays in the queue as its own.
  ERR_clear_error();
  return outcome;
}
