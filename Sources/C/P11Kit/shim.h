// p11-kit: one decryption by a private key that stays in a PKCS#11 module.
#pragma once
#include <p11-kit/p11-kit.h>
#include <p11-kit/uri.h>
#include <stdint.h>
#include <string.h>

#define LK_P11_PLAIN_BYTES 1024

// What failed. The meaning of `LkP11Failure.code` depends on it.
enum LkP11Step {
  LK_P11_DONE,
  LK_P11_URI,      // The text is no URI of a key, or has an attribute that p11-kit does not know.
  LK_P11_PATH,     // The URI has no module-path, or no pin-source.
  LK_P11_MODULE,   // The module cannot be loaded or initialized (CK_RV).
  LK_P11_TOKEN,    // The number of tokens that match is not 1.
  LK_P11_LOGIN,    // The PIN is wrong, or the session cannot be opened (CK_RV).
  LK_P11_KEY,      // The number of private keys that match is not 1.
  LK_P11_DECRYPT,  // The module rejects the mechanism or the ciphertext (CK_RV).
};

struct LkP11Failure {
  enum LkP11Step step;
  unsigned long code;
};

static inline struct LkP11Failure lk_p11_failure(enum LkP11Step step, unsigned long code) {
  return (struct LkP11Failure){step, code};
}

static inline P11KitUri *lk_p11_parse(const char *text) {
  P11KitUri *uri = p11_kit_uri_new();
  if (uri && !p11_kit_uri_parse(text, P11_KIT_URI_FOR_ANY, uri) && !p11_kit_uri_any_unrecognized(uri)) return uri;
  p11_kit_uri_free(uri);
  return NULL;
}

// Copies the pin-source of a URI, with its terminating zero, into `out`. Returns LK_P11_DONE or what failed.
static inline enum LkP11Step lk_p11_pin_source(const char *text, char *out, size_t room) {
  P11KitUri *uri = lk_p11_parse(text);
  if (!uri) return LK_P11_URI;
  const char *source = p11_kit_uri_get_pin_source(uri);
  int fits = source && *source && strlen(source) < room && p11_kit_uri_get_module_path(uri);
  if (fits) strcpy(out, source);
  p11_kit_uri_free(uri);
  return fits ? LK_P11_DONE : LK_P11_PATH;
}

// Finds the one token that the URI matches.
static inline struct LkP11Failure lk_p11_slot(CK_FUNCTION_LIST *module, P11KitUri *uri, CK_SLOT_ID *found) {
  CK_SLOT_ID slots[64];
  CK_ULONG count = sizeof slots / sizeof *slots, matches = 0;
  CK_RV rv = module->C_GetSlotList(CK_TRUE, slots, &count);
  if (rv != CKR_OK) return lk_p11_failure(LK_P11_MODULE, rv);
  for (CK_ULONG index = 0; index < count; index++) {
    CK_TOKEN_INFO info;
    if (module->C_GetTokenInfo(slots[index], &info) != CKR_OK || !p11_kit_uri_match_token_info(uri, &info)) continue;
    *found = slots[index];
    matches++;
  }
  return matches == 1 ? lk_p11_failure(LK_P11_DONE, 0) : lk_p11_failure(LK_P11_TOKEN, matches);
}

// Finds the one private key that the URI matches.
static inline struct LkP11Failure lk_p11_key(
    CK_FUNCTION_LIST *module, CK_SESSION_HANDLE session, P11KitUri *uri, CK_OBJECT_HANDLE *found) {
  CK_ATTRIBUTE wanted[16];
  CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
  CK_ULONG count = 0, given = 0;
  CK_ATTRIBUTE *attributes = p11_kit_uri_get_attributes(uri, &given);
  wanted[count++] = (CK_ATTRIBUTE){CKA_CLASS, &class, sizeof class};
  for (CK_ULONG index = 0; index < given && count < sizeof wanted / sizeof *wanted; index++) {
    if (attributes[index].type != CKA_CLASS) wanted[count++] = attributes[index];
  }
  CK_OBJECT_HANDLE keys[2];
  CK_ULONG matches = 0;
  CK_RV rv = module->C_FindObjectsInit(session, wanted, count);
  if (rv == CKR_OK) rv = module->C_FindObjects(session, keys, 2, &matches);
  if (rv == CKR_OK) rv = module->C_FindObjectsFinal(session);
  if (rv != CKR_OK) return lk_p11_failure(LK_P11_LOGIN, rv);
  *found = keys[0];
  return matches == 1 ? lk_p11_failure(LK_P11_DONE, 0) : lk_p11_failure(LK_P11_KEY, matches);
}

// RSA-OAEP with SHA-1, which every module and `openssl pkeyutl` support by default.
static inline struct LkP11Failure lk_p11_in_session(
    CK_FUNCTION_LIST *module, CK_SESSION_HANDLE session, P11KitUri *uri, const char *pin, size_t pin_count,
    const uint8_t *sealed, size_t count, uint8_t *out, size_t *out_count) {
  CK_RV rv = module->C_Login(session, CKU_USER, (CK_UTF8CHAR *)pin, pin_count);
  if (rv != CKR_OK && rv != CKR_USER_ALREADY_LOGGED_IN) return lk_p11_failure(LK_P11_LOGIN, rv);
  CK_OBJECT_HANDLE key = 0;
  struct LkP11Failure failure = lk_p11_key(module, session, uri, &key);
  if (failure.step == LK_P11_DONE) {
    CK_RSA_PKCS_OAEP_PARAMS parameters = {CKM_SHA_1, CKG_MGF1_SHA1, CKZ_DATA_SPECIFIED, NULL, 0};
    CK_MECHANISM mechanism = {CKM_RSA_PKCS_OAEP, &parameters, sizeof parameters};
    CK_ULONG made = *out_count;
    rv = module->C_DecryptInit(session, &mechanism, key);
    if (rv == CKR_OK) rv = module->C_Decrypt(session, (CK_BYTE *)sealed, count, out, &made);
    *out_count = made;
    if (rv != CKR_OK) failure = lk_p11_failure(LK_P11_DECRYPT, rv);
  }
  module->C_Logout(session);
  return failure;
}

// Decrypts `sealed` with the private key that the URI names, into `out` with room for LK_P11_PLAIN_BYTES. The module is
// finalized afterwards.
static inline struct LkP11Failure lk_p11_decrypt(
    const char *text, const char *pin, size_t pin_count, const uint8_t *sealed, size_t count, uint8_t *out,
    size_t *out_count) {
  P11KitUri *uri = lk_p11_parse(text);
  if (!uri) return lk_p11_failure(LK_P11_URI, 0);
  // Unmanaged: the functions of the module itself, without wrappers that p11-kit would generate at run time.
  CK_FUNCTION_LIST *module = p11_kit_module_load(p11_kit_uri_get_module_path(uri), P11_KIT_MODULE_UNMANAGED);
  struct LkP11Failure failure = lk_p11_failure(LK_P11_MODULE, CKR_GENERAL_ERROR);
  CK_RV rv = module ? p11_kit_module_initialize(module) : CKR_GENERAL_ERROR;
  if (rv == CKR_OK) {
    CK_SLOT_ID slot = 0;
    CK_SESSION_HANDLE session = 0;
    failure = lk_p11_slot(module, uri, &slot);
    if (failure.step == LK_P11_DONE) {
      rv = module->C_OpenSession(slot, CKF_SERIAL_SESSION, NULL, NULL, &session);
      failure = rv == CKR_OK
        ? lk_p11_in_session(module, session, uri, pin, pin_count, sealed, count, out, out_count)
        : lk_p11_failure(LK_P11_LOGIN, rv);
      if (rv == CKR_OK) module->C_CloseSession(session);
    }
    p11_kit_module_finalize(module);
  } else if (module) {
    failure.code = rv;
  }
  if (module) p11_kit_module_release(module);
  p11_kit_uri_free(uri);
  return failure;
}
