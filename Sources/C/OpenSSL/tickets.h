// Session tickets (RFC 8446 4.6.1): the keys that encrypt them, which outlive a context, and the lifetime of a ticket.
#pragma once
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

struct lk_tls_ticket_key {
  unsigned char name[16];
  unsigned char cipher[32];
  unsigned char mac[32];
};
// Newest first. The first key encrypts tickets. The other one still decrypts the tickets that it encrypted.
enum { LK_TLS_TICKET_GENERATIONS = 2 };
struct lk_tls_tickets {
  pthread_mutex_t lock;
  EVP_CIPHER *cipher;
  int generations;
  struct lk_tls_ticket_key keys[LK_TLS_TICKET_GENERATIONS];
};

// Returns 1, or 0 if no randomness is available. In that case the keys do not change.
static inline int lk_tls_tickets_rotate(struct lk_tls_tickets *tickets) {
  struct lk_tls_ticket_key fresh;
  ERR_clear_error();
  if (RAND_bytes((unsigned char *)&fresh, sizeof fresh) != 1) return 0;
  pthread_mutex_lock(&tickets->lock);
  memmove(tickets->keys + 1, tickets->keys, sizeof fresh * (LK_TLS_TICKET_GENERATIONS - 1));
  tickets->keys[0] = fresh;
  if (tickets->generations < LK_TLS_TICKET_GENERATIONS) tickets->generations++;
  pthread_mutex_unlock(&tickets->lock);
  OPENSSL_cleanse(&fresh, sizeof fresh);
  return 1;
}
static inline void lk_tls_tickets_free(struct lk_tls_tickets *tickets) {
  pthread_mutex_destroy(&tickets->lock);
  EVP_CIPHER_free(tickets->cipher);
  OPENSSL_clear_free(tickets, sizeof *tickets);
}
// Returns NULL if memory or randomness is not available.
static inline struct lk_tls_tickets *lk_tls_tickets_new(void) {
  struct lk_tls_tickets *tickets = OPENSSL_zalloc(sizeof *tickets);
  if (!tickets) return NULL;
  pthread_mutex_init(&tickets->lock, NULL);
  // Fetched once: looking up a cipher by name takes locks in OpenSSL 3.
  tickets->cipher = EVP_CIPHER_fetch(NULL, "AES-256-CBC", NULL);
  if (tickets->cipher && lk_tls_tickets_rotate(tickets)) return tickets;
  lk_tls_tickets_free(tickets);
  return NULL;
}

// Finds the generation that encrypts (`name` is NULL) or that has this name. Returns -1 if there is none.
static inline int lk_tls_tickets_find(struct lk_tls_tickets *tickets, const unsigned char *name,
                                      struct lk_tls_ticket_key *key) {
  int found = -1;
  pthread_mutex_lock(&tickets->lock);
  for (int at = 0; at < tickets->generations && found < 0; at++) {
    if (!name || memcmp(tickets->keys[at].name, name, sizeof key->name) == 0) found = at;
  }
  if (found >= 0) *key = tickets->keys[found];
  pthread_mutex_unlock(&tickets->lock);
  return found;
}
// Returns -1: failure; 0: not our key; 1: valid; 2: valid, and a new ticket must replace it.
static inline int lk_tls_ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                                    EVP_MAC_CTX *mac, int seals) {
  struct lk_tls_tickets *tickets = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
  struct lk_tls_ticket_key key;
  int generation = lk_tls_tickets_find(tickets, seals ? NULL : name, &key);
  if (generation < 0) return 0;
  if (seals) memcpy(name, key.name, sizeof key.name);
  OSSL_PARAM params[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac, sizeof key.mac),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0), OSSL_PARAM_construct_end()};
  int good = (!seals || RAND_bytes(iv, EVP_CIPHER_get_iv_length(tickets->cipher)) == 1) &&
             EVP_MAC_CTX_set_params(mac, params) == 1 &&
             EVP_CipherInit_ex2(cipher, tickets->cipher, key.cipher, iv, seals, NULL) == 1;
  OPENSSL_cleanse(&key, sizeof key);
  if (!good) return -1;
  // RFC 8446 C.4: if a client uses a ticket twice, an observer can link both connections to it.
  return !seals && (generation > 0 || SSL_version(ssl) == TLS1_3_VERSION) ? 2 : 1;
}

// A resumption does not verify the client's certificate again, and it issues a new ticket. Each ticket therefore
// contains the time of the full handshake. Without it, a client could resume indefinitely with a certificate that has
// expired or is no longer trusted.
static inline int lk_tls_ticket_issue(SSL *ssl, void *unused) {
  (void)unused;
  SSL_SESSION *session = SSL_get_session(ssl);
  void *data;
  size_t bytes;
  if (SSL_SESSION_get0_ticket_appdata(session, &data, &bytes) == 1 && bytes == sizeof(int64_t)) return 1;
  int64_t now = time(NULL);
  return SSL_SESSION_set1_ticket_appdata(session, &now, sizeof now);
}
static inline SSL_TICKET_RETURN lk_tls_ticket_judge(SSL *ssl, SSL_SESSION *session, const unsigned char *name,
                                                    size_t name_bytes, SSL_TICKET_STATUS status, void *unused) {
  (void)name, (void)name_bytes, (void)unused;
  if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) return SSL_TICKET_RETURN_IGNORE_RENEW;
  void *data;
  size_t bytes;
  int64_t verified_at, now = time(NULL);
  if (SSL_SESSION_get0_ticket_appdata(session, &data, &bytes) != 1 || bytes != sizeof verified_at) {
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  }
  memcpy(&verified_at, data, sizeof verified_at);
  X509 *client = SSL_SESSION_get0_peer(session);
  if (now < verified_at || now - verified_at >= SSL_CTX_get_timeout(SSL_get_SSL_CTX(ssl)) ||
      (client && X509_cmp_current_time(X509_get0_notAfter(client)) <= 0)) {
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  }
  return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

// `tickets` must outlive the context and every connection made from it.
static inline int lk_tls_use_tickets(SSL_CTX *context, struct lk_tls_tickets *tickets, long lifetime_seconds) {
  ERR_clear_error();
  SSL_CTX_set_timeout(context, lifetime_seconds);
  return SSL_CTX_set_num_tickets(context, 1) && SSL_CTX_set_app_data(context, tickets) &&
         SSL_CTX_set_tlsext_ticket_key_evp_cb(context, lk_tls_ticket_key) &&
         SSL_CTX_set_session_ticket_cb(context, lk_tls_ticket_issue, lk_tls_ticket_judge, NULL);
}
