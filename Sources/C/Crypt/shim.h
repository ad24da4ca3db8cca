// libxcrypt. Latchkey uses only its bcrypt, for passwords that another service hashed.
#pragma once
#include <crypt.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LK_BCRYPT_BYTES 60
#define LK_BCRYPT_NO_MEMORY (-1)

// Writes the hash with the salt and cost of `setting` to `out`: LK_BCRYPT_BYTES and a terminating zero. `password` and
// `setting` end with a zero. Returns 0, 1 if the setting is invalid, or LK_BCRYPT_NO_MEMORY.
static inline int lk_bcrypt(const char *password, const char *setting, char *out) {
  struct crypt_data *data = calloc(1, sizeof *data);
  if (!data) return LK_BCRYPT_NO_MEMORY;
  errno = 0;
  const char *hash = crypt_r(password, setting, data);
  int failed = hash && strlen(hash) == LK_BCRYPT_BYTES ? 0 : errno == ENOMEM ? LK_BCRYPT_NO_MEMORY : 1;
  if (!failed) memcpy(out, hash, LK_BCRYPT_BYTES + 1);
  explicit_bzero(data, sizeof *data);
  free(data);
  return failed;
}
