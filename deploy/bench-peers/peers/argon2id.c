// The bound of a password sign-in: libsodium's Argon2id alone, with the server's parameters, on one thread. `hash`
// prints a hash of PASSWORD. `verify` checks PASSWORD against PHC for SECONDS and prints the checks for each CPU-second
// and for each second.
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int hash(const char *password, const char *memory_kib, const char *iterations) {
  char phc[crypto_pwhash_argon2id_STRBYTES];
  if (crypto_pwhash_argon2id_str(phc, password, strlen(password), strtoull(iterations, NULL, 10),
                                 strtoull(memory_kib, NULL, 10) * 1024) != 0) return 1;
  puts(phc);
  return 0;
}

static int verify(const char *password, const char *phc, double seconds) {
  const double begun = seconds_of(CLOCK_MONOTONIC), cpu_begun = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  long checks = 0;
  do {
    if (crypto_pwhash_argon2id_str_verify(phc, password, strlen(password)) != 0) return 1;
    checks++;
  } while (seconds_of(CLOCK_MONOTONIC) - begun < seconds);
  printf("%.3f %.3f\n", (double)checks / (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_begun),
         (double)checks / (seconds_of(CLOCK_MONOTONIC) - begun));
  return 0;
}

int main(int count, char **words) {
  if (sodium_init() < 0) return 1;
  if (count == 5 && strcmp(words[1], "hash") == 0) return hash(words[2], words[3], words[4]);
  if (count == 5 && strcmp(words[1], "verify") == 0) return verify(words[2], words[3], atof(words[4]));
  fputs("usage: argon2id hash PASSWORD MEMORY_KIB ITERATIONS | verify PASSWORD PHC SECONDS\n", stderr);
  return 2;
}
