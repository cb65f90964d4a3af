#pragma once
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

/* Swift calls no variadic function: one function for each type of argument. */
static inline CURLcode ccurl_set_long(CURL *h, CURLoption o, long v) {
  return curl_easy_setopt(h, o, v);
}
static inline CURLcode ccurl_set_size(CURL *h, CURLoption o, curl_off_t v) {
  return curl_easy_setopt(h, o, v);
}
static inline CURLcode ccurl_set_string(CURL *h, CURLoption o, const char *v) {
  return curl_easy_setopt(h, o, v);
}
static inline CURLcode ccurl_set_pointer(CURL *h, CURLoption o, void *v) {
  return curl_easy_setopt(h, o, v);
}
static inline CURLcode ccurl_set_list(CURL *h, CURLoption o, struct curl_slist *v) {
  return curl_easy_setopt(h, o, v);
}
static inline CURLcode ccurl_set_writer(CURL *h, CURLoption o, curl_write_callback v) {
  return curl_easy_setopt(h, o, v);
}
static inline CURLcode ccurl_set_socket_opener(CURL *h, curl_opensocket_callback v) {
  return curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, v);
}
/* The whole address, which may be longer than its type. */
static inline const void *ccurl_address(const struct curl_sockaddr *a) { return &a->addr; }
static inline CURLcode ccurl_get_long(CURL *h, CURLINFO i, long *v) {
  return curl_easy_getinfo(h, i, v);
}
static inline CURLcode ccurl_get_socket(CURL *h, curl_socket_t *v) {
  return curl_easy_getinfo(h, CURLINFO_ACTIVESOCKET, v);
}
static inline CURLcode ccurl_get_private(CURL *h, void **v) {
  return curl_easy_getinfo(h, CURLINFO_PRIVATE, v);
}
static inline CURLMcode ccurl_multi_set_long(CURLM *h, CURLMoption o, long v) {
  return curl_multi_setopt(h, o, v);
}
static inline CURLMcode ccurl_multi_set_pointer(CURLM *h, CURLMoption o, void *v) {
  return curl_multi_setopt(h, o, v);
}
static inline CURLMcode ccurl_multi_set_socket_callback(CURLM *h, curl_socket_callback v) {
  return curl_multi_setopt(h, CURLMOPT_SOCKETFUNCTION, v);
}
static inline CURLMcode ccurl_multi_set_timer_callback(CURLM *h, curl_multi_timer_callback v) {
  return curl_multi_setopt(h, CURLMOPT_TIMERFUNCTION, v);
}

/* Macros over macros and enumerators without a type, which Swift imports badly or not at all. */
static const curl_socket_t ccurl_timeout_socket = CURL_SOCKET_TIMEOUT;
static const curl_socket_t ccurl_no_socket = CURL_SOCKET_BAD;
static const long ccurl_http_2_over_tls = CURL_HTTP_VERSION_2TLS;
static const long ccurl_tls_1_2 = CURL_SSLVERSION_TLSv1_2;
static const long ccurl_global_all = CURL_GLOBAL_ALL;
