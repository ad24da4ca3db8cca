// libidn2 converts a label of a domain name to its canonical ASCII form.
#pragma once
#include <idn2.h>
#include <stdint.h>
#include <stdlib.h>

// Converts a label that is already NFC and in lower case, as RFC 5891 4 specifies (registration, the strict reading).
// There is no UTS 46 mapping: look-alikes such as full-width letters must be rejected, not translated. An A-label is
// decoded, checked like any other label, and must be the one that its U-label produces. With LK_LABEL_GOOD, `ascii`
// receives a string for free(), else NULL.
enum lk_label { LK_LABEL_GOOD, LK_LABEL_BAD, LK_LABEL_NO_MEMORY };
static inline enum lk_label lk_label_to_ascii(const char *label, int isALabel, char **ascii) {
  *ascii = NULL;
  const uint8_t *text = (const uint8_t *)label;
  int flags = IDN2_NFC_INPUT | IDN2_NO_TR46 | IDN2_ALABEL_ROUNDTRIP;
  int outcome = idn2_register_u8(isALabel ? NULL : text, isALabel ? text : NULL, (uint8_t **)ascii, flags);
  if (outcome == IDN2_MALLOC) return LK_LABEL_NO_MEMORY;
  return outcome == IDN2_OK ? LK_LABEL_GOOD : LK_LABEL_BAD;
}
