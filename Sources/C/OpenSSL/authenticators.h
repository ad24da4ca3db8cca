// Certificates of authenticators (WebAuthn 8.2.1, 8.3.1).
#pragma once
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <string.h>
#include "passphrase.h"

enum lk_authenticator_trust {
  LK_AUTHENTICATOR_TRUSTED,
  // The first certificate is malformed, one of an authority, or not for attestation.
  LK_AUTHENTICATOR_NO_LEAF,
  // The first certificate is for another model of authenticator.
  LK_AUTHENTICATOR_OTHER_MODEL,
  LK_AUTHENTICATOR_NO_CHAIN,
};

// Adds the certificates of a PEM text. Returns how many there are, or -1 if the text has a malformed one.
static inline int lk_authenticator_add_roots(X509_STORE *store, const uint8_t *pem, size_t count) {
  BIO *source = count <= INT_MAX ? BIO_new_mem_buf(pem, (int)count) : NULL;
  int added = 0;
  X509 *certificate;
  while (added >= 0 && source && (certificate = PEM_read_bio_X509(source, NULL, lk_no_passphrase, NULL))) {
    added = X509_STORE_add_cert(store, certificate) == 1 ? added + 1 : -1;
    X509_free(certificate);
  }
  unsigned long error = ERR_peek_last_error();
  if (ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE) added = -1;
  BIO_free(source);
  ERR_clear_error();
  return added;
}

// Returns how many certificates a PEM text has, or -1 if one is malformed.
static inline int lk_authenticator_count_roots(const uint8_t *pem, size_t count) {
  ERR_clear_error();
  X509_STORE *store = X509_STORE_new();
  int added = store ? lk_authenticator_add_roots(store, pem, count) : -1;
  X509_STORE_free(store);
  ERR_clear_error();
  return added;
}

// Returns whether a certificate is for this model. One without the extension id-fido-gen-ce-aaguid is for each.
static inline int lk_authenticator_is_model(X509 *certificate, const uint8_t *aaguid) {
  ASN1_OBJECT *name = OBJ_txt2obj("1.3.6.1.4.1.45724.1.1.4", 1);
  int index = name ? X509_get_ext_by_OBJ(certificate, name, -1) : -1, is_model = name != NULL;
  ASN1_OBJECT_free(name);
  if (index >= 0) {
    // The value is an octet string of 16 bytes, inside the octet string of each extension.
    const ASN1_OCTET_STRING *value = X509_EXTENSION_get_data(X509_get_ext(certificate, index));
    const uint8_t head[2] = {0x04, 0x10}, *bytes = ASN1_STRING_get0_data(value);
    is_model = ASN1_STRING_length(value) == 18 && !memcmp(bytes, head, 2) && !memcmp(bytes + 2, aaguid, 16);
  }
  return is_model;
}

// Returns whether a name has exactly one value of this kind, which is `text`, or any but the empty one if that is NULL.
static inline int lk_authenticator_has(const X509_NAME *subject, int kind, const char *text) {
  int index = X509_NAME_get_index_by_NID(subject, kind, -1);
  if (index < 0 || X509_NAME_get_index_by_NID(subject, kind, index) >= 0) return 0;
  const ASN1_STRING *value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index));
  int count = ASN1_STRING_length(value);
  if (!text) return count > 0;
  return count == (int)strlen(text) && !memcmp(ASN1_STRING_get0_data(value), text, (size_t)count);
}

// Returns whether a certificate is one by which authenticators attest their model, and no other one of the same root.
// That of a TPM has no subject, and an extended key usage (8.3.1). Others have a subject with a fixed unit (8.2.1).
static inline int lk_authenticator_attests(X509 *certificate, int is_tpm) {
  const X509_NAME *subject = X509_get_subject_name(certificate);
  if (!is_tpm) {
    return lk_authenticator_has(subject, NID_countryName, NULL) &&
           lk_authenticator_has(subject, NID_organizationName, NULL) &&
           lk_authenticator_has(subject, NID_organizationalUnitName, "Authenticator Attestation") &&
           lk_authenticator_has(subject, NID_commonName, NULL);
  }
  // tcg-kp-AIKCertificate
  ASN1_OBJECT *wanted = OBJ_txt2obj("2.23.133.8.3", 1);
  EXTENDED_KEY_USAGE *usages = X509_get_ext_d2i(certificate, NID_ext_key_usage, NULL, NULL);
  int attests = 0;
  for (int index = 0; wanted && index < sk_ASN1_OBJECT_num(usages); index++)
    attests |= !OBJ_cmp(sk_ASN1_OBJECT_value(usages, index), wanted);
  EXTENDED_KEY_USAGE_free(usages);
  ASN1_OBJECT_free(wanted);
  return attests && X509_NAME_entry_count(subject) == 0;
}

static inline STACK_OF(X509) *lk_authenticator_chain(const uint8_t *chain, const size_t *counts, size_t count) {
  STACK_OF(X509) *certificates = sk_X509_new_null();
  for (size_t index = 0; certificates && index < count; index++) {
    const uint8_t *at = chain, *end = chain + counts[index];
    X509 *certificate = d2i_X509(NULL, &at, (long)counts[index]);
    if (!certificate || at != end || !sk_X509_push(certificates, certificate)) {
      X509_free(certificate);
      sk_X509_pop_free(certificates, X509_free);
      return NULL;
    }
    chain = end;
  }
  return certificates;
}

// Checks the certificates of an attestation statement, which follow each other in `chain`, at the current time. A root
// may also be the certificate of the authenticator or an intermediate one.
static inline enum lk_authenticator_trust lk_authenticator_check(
    const uint8_t *chain, const size_t *counts, size_t count, int is_tpm, const uint8_t *aaguid, const uint8_t *pem,
    size_t pem_count) {
  ERR_clear_error();
  STACK_OF(X509) *certificates = lk_authenticator_chain(chain, counts, count);
  X509 *leaf = certificates ? sk_X509_value(certificates, 0) : NULL;
  enum lk_authenticator_trust trust = LK_AUTHENTICATOR_NO_CHAIN;
  if (!leaf || X509_get_version(leaf) != X509_VERSION_3 || X509_check_ca(leaf) ||
      !lk_authenticator_attests(leaf, is_tpm)) {
    trust = LK_AUTHENTICATOR_NO_LEAF;
  } else if (!lk_authenticator_is_model(leaf, aaguid)) {
    trust = LK_AUTHENTICATOR_OTHER_MODEL;
  } else {
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    if (store && context && lk_authenticator_add_roots(store, pem, pem_count) > 0 &&
        X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN) == 1 &&
        X509_STORE_CTX_init(context, store, leaf, certificates) == 1 && X509_verify_cert(context) == 1) {
      trust = LK_AUTHENTICATOR_TRUSTED;
    }
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
  }
  sk_X509_pop_free(certificates, X509_free);
  ERR_clear_error();
  return trust;
}
