// CBOR items of untrusted bytes.
#pragma once
#include <cbor.h>
#include <stdint.h>
#include <string.h>

// More items than any attestation object has. It also bounds the nesting.
#define LK_CBOR_ITEMS_MAX 256

struct lk_cbor_walk {
  size_t wanted;
  int refused;
};

static inline void lk_cbor_refuse(void *walk) { ((struct lk_cbor_walk *)walk)->refused = 1; }
static inline void lk_cbor_refuse_tag(void *walk, uint64_t tag) {
  (void)tag;
  lk_cbor_refuse(walk);
}
static inline void lk_cbor_want(void *walk, size_t count) {
  if (count > LK_CBOR_ITEMS_MAX) lk_cbor_refuse(walk);
  else ((struct lk_cbor_walk *)walk)->wanted += count;
}
static inline void lk_cbor_want_pairs(void *walk, size_t count) {
  lk_cbor_want(walk, count);
  lk_cbor_want(walk, count);
}

// Returns the byte count of the first item. 0: it is truncated or malformed, or contains a tag or an item of indefinite
// length, which CTAP2 forbids, or too many items. libcbor 0.8 reserves and fills memory for as many elements as an item
// claims to have, so it loads only what was measured.
static inline size_t lk_cbor_measure(const uint8_t *bytes, size_t count) {
  struct cbor_callbacks callbacks = cbor_empty_callbacks;
  callbacks.array_start = lk_cbor_want;
  callbacks.map_start = lk_cbor_want_pairs;
  callbacks.tag = lk_cbor_refuse_tag;
  callbacks.byte_string_start = callbacks.string_start = lk_cbor_refuse;
  callbacks.indef_array_start = callbacks.indef_map_start = callbacks.indef_break = lk_cbor_refuse;
  struct lk_cbor_walk walk = {1, 0};
  size_t at = 0;
  for (size_t items = 0; walk.wanted; items++) {
    struct cbor_decoder_result decoded = cbor_stream_decode(bytes + at, count - at, &callbacks, &walk);
    if (decoded.status != CBOR_DECODER_FINISHED || walk.refused) return 0;
    if (items + walk.wanted > LK_CBOR_ITEMS_MAX) return 0;
    at += decoded.read;
    walk.wanted--;
  }
  return at;
}

// Returns the first item if it is a map, and its byte count.
static inline cbor_item_t *lk_cbor_map(const uint8_t *bytes, size_t count, size_t *read) {
  struct cbor_load_result loaded;
  *read = lk_cbor_measure(bytes, count);
  cbor_item_t *item = *read ? cbor_load(bytes, *read, &loaded) : NULL;
  if (item && !cbor_isa_map(item)) cbor_decref(&item);
  return item;
}

static inline int lk_cbor_is_text(const cbor_item_t *item, const char *text) {
  return cbor_isa_string(item) && cbor_string_length(item) == strlen(text) &&
    !memcmp(cbor_string_handle(item), text, strlen(text));
}

// Returns the value of the only member with this name, borrowed from the map.
static inline cbor_item_t *lk_cbor_member(const cbor_item_t *map, const char *name) {
  cbor_item_t *found = NULL;
  for (size_t index = 0; index < cbor_map_size(map); index++) {
    struct cbor_pair pair = cbor_map_handle(map)[index];
    if (!lk_cbor_is_text(pair.key, name)) continue;
    if (found) return NULL;
    found = pair.value;
  }
  return found;
}

// Returns a negative integer, or 0 for another item.
static inline int64_t lk_cbor_negative(const cbor_item_t *item) {
  return item && cbor_isa_negint(item) && cbor_get_int(item) < INT32_MAX ? -1 - (int64_t)cbor_get_int(item) : 0;
}
