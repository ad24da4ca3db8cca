#pragma once

// Without this callback, PEM_read would ask for a passphrase on the terminal.
static inline int lk_no_passphrase(char *text, int most, int writes, void *unused) {
  (void)text, (void)most, (void)writes, (void)unused;
  return -1;
}
