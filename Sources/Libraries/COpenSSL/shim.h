#pragma once
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* A macro of macros, which Swift does not import. */
static const unsigned long copenssl_rfc2253 = XN_FLAG_RFC2253;

/* Macros with arguments, which it does not import either. */
static inline long copenssl_set_min_version(SSL_CTX *c, int version) {
  return SSL_CTX_set_min_proto_version(c, version);
}
static inline long copenssl_set_mode(SSL_CTX *c, long mode) { return SSL_CTX_set_mode(c, mode); }
static inline long copenssl_set_session_cache(SSL_CTX *c, long mode) {
  return SSL_CTX_set_session_cache_mode(c, mode);
}
static inline long copenssl_set_groups(SSL_CTX *c, const char *groups) {
  return SSL_CTX_set1_groups_list(c, groups);
}
static inline long copenssl_add_chain_certificate(SSL_CTX *c, X509 *certificate) {
  return SSL_CTX_add1_chain_cert(c, certificate);
}
static inline int copenssl_read_later(BIO *bio) {
  BIO_set_retry_read(bio);
  return -1;
}
static inline void copenssl_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

/* A server's choices: no renegotiation and no compression, its own order of ciphers but ChaCha20 for who prefers it. */
static const uint64_t copenssl_server_options = SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                                SSL_OP_CIPHER_SERVER_PREFERENCE |
                                                SSL_OP_PRIORITIZE_CHACHA;
