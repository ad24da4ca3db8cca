// The attestation object of a registration (WebAuthn 6.5).
#pragma once
#include "authenticator_data.h"
#include "passkey.h"
#include <openssl/err.h>

#define LK_CREDENTIAL_ID_BYTES_MAX 1023
#define LK_FORMAT_BYTES_MAX 32

// The members of an attestation object, borrowed from it.
struct lk_attestation {
  cbor_item_t *object, *statement;
  const uint8_t *data;
  size_t data_count;
  char format[LK_FORMAT_BYTES_MAX + 1];
};

// Opens an object. Returns 0 if it is not one map with the three members. `lk_attestation_close` follows a success.
static inline int lk_attestation_open(const uint8_t *bytes, size_t count, struct lk_attestation *out) {
  size_t read = 0;
  memset(out, 0, sizeof *out);
  cbor_item_t *object = lk_cbor_map(bytes, count, &read);
  if (!object) return 0;
  cbor_item_t *format = lk_cbor_member(object, "fmt"), *data = lk_cbor_member(object, "authData");
  out->statement = lk_cbor_member(object, "attStmt");
  if (read == count && format && cbor_isa_string(format) && cbor_string_length(format) <= LK_FORMAT_BYTES_MAX &&
      !memchr(cbor_string_handle(format), 0, cbor_string_length(format)) && data && cbor_isa_bytestring(data) &&
      out->statement && cbor_isa_map(out->statement)) {
    memcpy(out->format, cbor_string_handle(format), cbor_string_length(format));
    out->data = cbor_bytestring_handle(data);
    out->data_count = cbor_bytestring_length(data);
    out->object = object;
    return 1;
  }
  cbor_decref(&object);
  return 0;
}

static inline void lk_attestation_close(struct lk_attestation *attestation) { cbor_decref(&attestation->object); }

// Copies the format, which ends with a zero, and the authenticator data. `data` has room for `count` bytes. Returns 0
// if the object is malformed.
static inline int lk_attestation_parts(
    const uint8_t *bytes, size_t count, char *format, uint8_t *data, size_t *data_count) {
  struct lk_attestation attestation;
  if (!lk_attestation_open(bytes, count, &attestation)) return 0;
  memcpy(format, attestation.format, sizeof attestation.format);
  memcpy(data, attestation.data, attestation.data_count);
  *data_count = attestation.data_count;
  lk_attestation_close(&attestation);
  return 1;
}

static inline const cbor_item_t *lk_attestation_chain(const struct lk_attestation *attestation) {
  cbor_item_t *chain = lk_cbor_member(attestation->statement, "x5c");
  return chain && cbor_isa_array(chain) ? chain : NULL;
}

// Copies certificate `index` of the chain into `out`, with room for `count` bytes. Returns its byte count, or 0 without
// one.
static inline size_t lk_attestation_certificate(const uint8_t *bytes, size_t count, size_t index, uint8_t *out) {
  struct lk_attestation attestation;
  if (!lk_attestation_open(bytes, count, &attestation)) return 0;
  const cbor_item_t *chain = lk_attestation_chain(&attestation);
  size_t copied = 0;
  if (chain && index < cbor_array_size(chain)) {
    const cbor_item_t *certificate = cbor_array_handle(chain)[index];
    if (cbor_isa_bytestring(certificate)) {
      copied = cbor_bytestring_length(certificate);
      memcpy(out, cbor_bytestring_handle(certificate), copied);
    }
  }
  lk_attestation_close(&attestation);
  return copied;
}

struct LkCredential {
  size_t id_count, key_count;
};

enum LkCredentialOutcome {
  LK_CREDENTIAL_SOUND,
  LK_CREDENTIAL_NO_MEMORY,
  // The id has no bytes, or too many.
  LK_CREDENTIAL_ID,
  // The key is not one of its algorithm.
  LK_CREDENTIAL_KEY,
};

static inline int lk_is_key(int algorithm, const uint8_t *bytes, size_t count) {
  struct lk_passkey key = lk_passkey_open(algorithm, bytes, count);
  int good = lk_passkey_bytes(&key) != NULL;
  lk_passkey_close(&key);
  return good;
}

// Copies the credential in authenticator data that `lk_authenticator_data` accepts. `id` has room for
// LK_CREDENTIAL_ID_BYTES_MAX bytes, `key` for LK_PASSKEY_BYTES_MAX, and `aaguid` for 16.
static inline enum LkCredentialOutcome lk_credential(
    const uint8_t *data, size_t count, int algorithm, struct LkCredential *out, uint8_t *id, uint8_t *key,
    uint8_t *aaguid) {
  size_t id_count = (size_t)data[LK_DATA_FIXED_BYTES + 16] << 8 | data[LK_DATA_FIXED_BYTES + 17];
  if (id_count < 1 || id_count > LK_CREDENTIAL_ID_BYTES_MAX) return LK_CREDENTIAL_ID;
  fido_cred_t *credential = fido_cred_new();
  if (!credential) return LK_CREDENTIAL_NO_MEMORY;
  enum LkCredentialOutcome outcome = LK_CREDENTIAL_KEY;
  if (fido_cred_set_type(credential, algorithm) == FIDO_OK &&
      fido_cred_set_authdata_raw(credential, data, count) == FIDO_OK && fido_cred_id_len(credential) == id_count &&
      lk_is_key(algorithm, fido_cred_pubkey_ptr(credential), fido_cred_pubkey_len(credential))) {
    outcome = LK_CREDENTIAL_SOUND;
    *out = (struct LkCredential){id_count, fido_cred_pubkey_len(credential)};
    memcpy(id, fido_cred_id_ptr(credential), out->id_count);
    memcpy(key, fido_cred_pubkey_ptr(credential), out->key_count);
    memcpy(aaguid, fido_cred_aaguid_ptr(credential), 16);
  }
  fido_cred_free(&credential);
  // libssl would read an error that stays in the queue as its own.
  ERR_clear_error();
  return outcome;
}

enum LkStatement {
  LK_STATEMENT_NO_MEMORY,
  // Malformed, or its signature is invalid.
  LK_STATEMENT_BROKEN,
  // libfido2 does not know its format.
  LK_STATEMENT_UNKNOWN,
  LK_STATEMENT_NONE,
  // Signed by the credential's own key.
  LK_STATEMENT_SELF,
  // Signed by the first certificate of the chain.
  LK_STATEMENT_CERTIFIED,
};

static inline int lk_fido_set_statement(fido_cred_t *credential, const cbor_item_t *statement) {
  unsigned char *bytes = NULL;
  size_t room = 0, count = cbor_serialize_alloc(statement, &bytes, &room);
  int good = count && fido_cred_set_attstmt(credential, bytes, count) == FIDO_OK;
  free(bytes);
  return good;
}

static inline enum LkStatement lk_statement_checked(
    const struct lk_attestation *attestation, const char *rp_id, const uint8_t *client_data_hash,
    fido_cred_t *credential) {
  struct LkAuthenticatorData data;
  if (!lk_authenticator_data(attestation->data, attestation->data_count, &data)) return LK_STATEMENT_BROKEN;
  int has_chain = lk_attestation_chain(attestation) != NULL, is_u2f = !strcmp(attestation->format, "fido-u2f");
  // Of TPMs, libfido2 knows only RSA keys that are attested with SHA-1.
  int64_t algorithm = lk_cbor_negative(lk_cbor_member(attestation->statement, "alg"));
  if (!strcmp(attestation->format, "tpm") && has_chain && algorithm &&
      (data.algorithm != COSE_RS256 || algorithm != COSE_RS1)) {
    return LK_STATEMENT_UNKNOWN;
  }
  // WebAuthn 8.2 and 8.6: a self attestation names the algorithm of its key, and U2F knows only ES256.
  if (is_u2f ? data.algorithm != COSE_ES256 || !has_chain
             : !has_chain && algorithm != data.algorithm) {
    return LK_STATEMENT_BROKEN;
  }
  if (fido_cred_set_type(credential, (int)data.algorithm) != FIDO_OK ||
      fido_cred_set_fmt(credential, attestation->format) != FIDO_OK ||
      fido_cred_set_rp(credential, rp_id, NULL) != FIDO_OK ||
      fido_cred_set_clientdata_hash(credential, client_data_hash, 32) != FIDO_OK ||
      fido_cred_set_authdata_raw(credential, attestation->data, attestation->data_count) != FIDO_OK ||
      !lk_fido_set_statement(credential, attestation->statement) ||
      fido_cred_set_extensions(credential, data.extensions.mask) != FIDO_OK ||
      fido_cred_set_prot(credential, data.extensions.protection) != FIDO_OK ||
      fido_cred_set_pin_minlen(credential, data.extensions.pin_min) != FIDO_OK) {
    return LK_STATEMENT_BROKEN;
  }
  if (has_chain) return fido_cred_verify(credential) == FIDO_OK ? LK_STATEMENT_CERTIFIED : LK_STATEMENT_BROKEN;
  return fido_cred_verify_self(credential) == FIDO_OK ? LK_STATEMENT_SELF : LK_STATEMENT_BROKEN;
}

// Verifies the attestation statement of an object (WebAuthn 7.1, steps 21 and 22). Nothing says yet whether the
// certificate is trusted.
static inline enum LkStatement lk_statement(
    const uint8_t *bytes, size_t count, const char *rp_id, const uint8_t *client_data_hash) {
  struct lk_attestation attestation;
  if (!lk_attestation_open(bytes, count, &attestation)) return LK_STATEMENT_BROKEN;
  enum LkStatement outcome = LK_STATEMENT_UNKNOWN;
  if (!strcmp(attestation.format, "none")) {
    // WebAuthn 8.7: the statement is empty.
    outcome = cbor_map_size(attestation.statement) ? LK_STATEMENT_BROKEN : LK_STATEMENT_NONE;
  } else if (
      !strcmp(attestation.format, "packed") || !strcmp(attestation.format, "fido-u2f") ||
      !strcmp(attestation.format, "tpm")) {
    fido_cred_t *credential = fido_cred_new();
    outcome = LK_STATEMENT_NO_MEMORY;
    if (credential) outcome = lk_statement_checked(&attestation, rp_id, client_data_hash, credential);
    fido_cred_free(&credential);
  }
  lk_attestation_close(&attestation);
  ERR_clear_error();
  return outcome;
}
