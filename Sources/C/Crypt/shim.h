// libxcrypt, which Latchkey uses for bcrypt alone: of passwords that another service hashed.
#pragma once
#include <crypt.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LK_BCRYPT_BYTES 60
#define LK_BCRYPT_NO_MEMORY (-1)

// `out` takes the hash under the salt and cost of `setting`, LK_BCRYPT_BYTES and an ending zero. Both texts end with a
// zero. 0: done; 1: the setting is none; LK_BCRYPT_NO_MEMORY.
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
