#pragma once
#include <secp256k1_recovery.h>

/* Recovers the key of a signature (R and S, and a mark from 0 to 3), as 4, X and Y; 0 if there is none. */
static inline int csecp256k1_recover(
    unsigned char *point, const unsigned char *signature, int mark, const unsigned char *hash) {
  secp256k1_ecdsa_recoverable_signature parsed;
  secp256k1_pubkey key;
  size_t size = 65;
  return secp256k1_ecdsa_recoverable_signature_parse_compact(
             secp256k1_context_static, &parsed, signature, mark) &&
         secp256k1_ecdsa_recover(secp256k1_context_static, &key, &parsed, hash) &&
         secp256k1_ec_pubkey_serialize(
             secp256k1_context_static, point, &size, &key, SECP256K1_EC_UNCOMPRESSED);
}

/* Signs a hash: R, S in the lower half, and the mark as wallets write it, 27 or 28; 0 for a number that is no key. */
static inline int csecp256k1_sign(
    unsigned char *signature, const unsigned char *hash, const unsigned char *secret) {
  secp256k1_ecdsa_recoverable_signature made;
  secp256k1_context *context = secp256k1_context_create(SECP256K1_CONTEXT_NONE);
  int mark = 0;
  int is_made = secp256k1_ecdsa_sign_recoverable(context, &made, hash, secret, NULL, NULL) &&
                secp256k1_ecdsa_recoverable_signature_serialize_compact(
                    context, signature, &mark, &made);
  secp256k1_context_destroy(context);
  signature[64] = (unsigned char)(27 + mark);
  return is_made;
}
