// Wrappers of libcurl's variadic functions, one for each argument type, because Swift imports no variadic C function.
#pragma once
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

static inline CURLcode latchkey_curl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode latchkey_curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode latchkey_curl_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

// The caller owns the list, and must keep it as long as the transfer runs.
static inline CURLcode latchkey_curl_set_fields(CURL *easy, struct curl_slist *lines) {
  return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, lines);
}

// Makes the request a POST of these bytes. libcurl copies them.
static inline CURLcode latchkey_curl_set_body(CURL *easy, const uint8_t *bytes, size_t count) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, count > 0 ? (const char *)bytes : "");
  return code;
}

typedef size_t (*latchkey_curl_give)(char *place, size_t size, size_t count, void *context);

// Makes the request an email to these recipients. libcurl reads the message from the callback. The caller owns the
// list, and must keep it as long as the transfer runs.
static inline CURLcode latchkey_curl_set_mail(
    CURL *easy, struct curl_slist *recipients, void *context, latchkey_curl_give give) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, recipients);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READFUNCTION, give);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READDATA, context);
  return code;
}

typedef size_t (*latchkey_curl_data)(char *bytes, size_t size, size_t count, void *context);
typedef curl_socket_t (*latchkey_curl_open)(void *context, curlsocktype purpose, struct curl_sockaddr *address);

// Sets the three callbacks of one transfer, all with the same context.
static inline CURLcode latchkey_curl_set_callbacks(
    CURL *easy, void *context, latchkey_curl_data header, latchkey_curl_data body, latchkey_curl_open open) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
  return code;
}

static inline CURLMcode latchkey_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

typedef int (*latchkey_curl_socket)(CURL *easy, curl_socket_t socket, int wish, void *context, void *of_socket);
typedef int (*latchkey_curl_timer)(CURLM *multi, long millis, void *context);

// Sets the two callbacks of a multi handle, both with the same context.
static inline CURLMcode latchkey_curl_multi_set_callbacks(
    CURLM *multi, void *context, latchkey_curl_socket socket, latchkey_curl_timer timer) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
  if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
  if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
  if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
  return code;
}

// Returns whether libcurl resolves names on another thread or over its own sockets.
static inline _Bool latchkey_curl_resolves_aside(void) {
  return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_ASYNCHDNS) != 0;
}

static inline long latchkey_curl_status(CURL *easy) {
  long status = 0;
  return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0;
}

// Returns NULL if the response has no content type.
static inline const char *latchkey_curl_content_type(CURL *easy) {
  char *type = NULL;
  return curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type) == CURLE_OK ? type : NULL;
}

// Copies the IP address in network byte order. Returns its length: 4, 16, or 0 for a family other than IPv4 and IPv6.
static inline int latchkey_curl_address(const struct curl_sockaddr *from, uint8_t bytes[16]) {
  if (from->family == AF_INET && from->addrlen >= sizeof(struct sockaddr_in)) {
    memcpy(bytes, &((const struct sockaddr_in *)&from->addr)->sin_addr, 4);
    return 4;
  }
  if (from->family == AF_INET6 && from->addrlen >= sizeof(struct sockaddr_in6)) {
    memcpy(bytes, &((const struct sockaddr_in6 *)&from->addr)->sin6_addr, 16);
    return 16;
  }
  return 0;
}
