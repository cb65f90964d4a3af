#pragma once
#include <cjose/base64.h>
#include <cjose/jws.h>
#include <cjose/version.h>
#include <stdlib.h>

/* Declared here, as cjose/util.h would bring OpenSSL's types into this module. */
void (*cjose_get_dealloc(void))(void *);

/* Whether a header has a parameter, of whatever type. */
static inline bool ccjose_has(cjose_header_t *header, const char *name) {
  char *raw = cjose_header_get_raw(header, name, NULL);
  if (raw == NULL) return false;
  cjose_get_dealloc()(raw);
  return true;
}
