// utf8proc provides the Unicode normal forms (UAX 15), which neither the standard library nor FoundationEssentials has.
#pragma once
#include <stdlib.h>
#include <utf8proc.h>

// Converts text to NFC, or to NFKC if `compatibility` is set. Returns the number of bytes at `*out` (for free()), or a
// negative number: UTF8PROC_ERROR_NOTASSIGNED if `only_assigned` is set and the text has a character that this version
// of utf8proc does not know.
static inline ptrdiff_t lk_normalise(
    const uint8_t *text, size_t count, int compatibility, int only_assigned, uint8_t **out) {
  int options = UTF8PROC_STABLE | UTF8PROC_COMPOSE | (compatibility ? UTF8PROC_COMPAT : 0) |
                (only_assigned ? UTF8PROC_REJECTNA : 0);
  return utf8proc_map(text, (utf8proc_ssize_t)count, out, (utf8proc_option_t)options);
}
