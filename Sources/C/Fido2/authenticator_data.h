// The layout of authenticator data (WebAuthn 6.1), up to its last byte.
#pragma once
#include "cbor_items.h"
#include <fido.h>

// The hash of the relying party's id, flags and counter.
#define LK_DATA_FIXED_BYTES 37
// The model and the length of the credential's id, which come next.
#define LK_DATA_CREDENTIAL_BYTES 18

// The extension outputs that libfido2 knows. It compares them with the expected ones.
struct LkExtensions {
  int mask, protection;
  size_t pin_min;
};

struct LkAuthenticatorData {
  // The algorithm of the credential's key. 0: none, or not a negative number.
  int64_t algorithm;
  struct LkExtensions extensions;
};

// The algorithm (3) of a COSE key.
static inline int64_t lk_cose_algorithm(const cbor_item_t *key) {
  for (size_t index = 0; index < cbor_map_size(key); index++) {
    struct cbor_pair pair = cbor_map_handle(key)[index];
    if (cbor_isa_uint(pair.key) && cbor_get_int(pair.key) == 3) return lk_cbor_negative(pair.value);
  }
  return 0;
}

static inline int lk_cbor_is_true(const cbor_item_t *item) {
  return item && cbor_isa_float_ctrl(item) && cbor_is_bool(item) && cbor_ctrl_value(item) == CBOR_CTRL_TRUE;
}

static inline struct LkExtensions lk_extensions(const cbor_item_t *map, int is_assertion) {
  struct LkExtensions found = {0, 0, 0};
  cbor_item_t *secret = lk_cbor_member(map, "hmac-secret"), *blob = lk_cbor_member(map, "credBlob");
  if (is_assertion) {
    if (secret) found.mask |= FIDO_EXT_HMAC_SECRET;
    if (blob) found.mask |= FIDO_EXT_CRED_BLOB;
    return found;
  }
  if (lk_cbor_is_true(secret)) found.mask |= FIDO_EXT_HMAC_SECRET;
  if (lk_cbor_is_true(blob)) found.mask |= FIDO_EXT_CRED_BLOB;
  cbor_item_t *protection = lk_cbor_member(map, "credProtect"), *pin = lk_cbor_member(map, "minPinLength");
  if (protection && cbor_isa_uint(protection)) found.protection = (int)(cbor_get_int(protection) & 0xFF);
  if (pin && cbor_isa_uint(pin)) found.pin_min = cbor_get_int(pin);
  return found;
}

// Reads authenticator data. Returns 0 if a part is missing or malformed, or if bytes follow the last part.
static inline int lk_authenticator_data(const uint8_t *bytes, size_t count, struct LkAuthenticatorData *out) {
  memset(out, 0, sizeof *out);
  if (count < LK_DATA_FIXED_BYTES) return 0;
  int has_credential = bytes[32] & CTAP_AUTHDATA_ATT_CRED;
  size_t at = LK_DATA_FIXED_BYTES, read = 0;
  if (has_credential) {
    if (count - at < LK_DATA_CREDENTIAL_BYTES) return 0;
    size_t id_count = (size_t)bytes[at + 16] << 8 | bytes[at + 17];
    at += LK_DATA_CREDENTIAL_BYTES;
    if (count - at < id_count) return 0;
    at += id_count;
    cbor_item_t *key = lk_cbor_map(bytes + at, count - at, &read);
    if (!key) return 0;
    out->algorithm = lk_cose_algorithm(key);
    cbor_decref(&key);
    at += read;
  }
  if (bytes[32] & CTAP_AUTHDATA_EXT_DATA) {
    cbor_item_t *extensions = lk_cbor_map(bytes + at, count - at, &read);
    if (!extensions) return 0;
    out->extensions = lk_extensions(extensions, !has_credential);
    cbor_decref(&extensions);
    at += read;
  }
  return at == count;
}
