#pragma once

// PEM_read would ask the terminal for a passphrase.
static inline int lk_no_passphrase(char *text, int most, int writes, void *unused) {
  (void)text, (void)most, (void)writes, (void)unused;
  return -1;
}
