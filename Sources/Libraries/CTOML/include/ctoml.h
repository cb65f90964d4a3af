// A TOML 1.0 document as a flat list of values with their places: toml++ behind a C boundary.
// Places count from 1; columns count code points.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Longest document, in bytes, and deepest nesting of tables and arrays.
enum { CTOML_MAX_SIZE = 1 << 20, CTOML_MAX_DEPTH = 32 };

typedef enum ctoml_kind {
  CTOML_TABLE,
  CTOML_ARRAY,
  CTOML_STRING,
  CTOML_INTEGER,
  CTOML_FLOAT,
  CTOML_BOOLEAN,
  CTOML_DATE  // date, time or both; only the kind is given
} ctoml_kind;

typedef struct ctoml_place {
  uint32_t line;
  uint32_t column;
} ctoml_place;

typedef struct ctoml_node {
  ctoml_kind kind;
  ctoml_place place;      // of the value
  ctoml_place key_place;  // of its key; 0:0 for the root and for what stands in an array
  const char *key;        // UTF-8, not terminated
  size_t key_size;
  const char *text;  // of a string: UTF-8, not terminated, may hold NUL
  size_t text_size;
  int64_t integer;  // of an integer; 0 or 1 of a boolean
  double real;      // of a float
  size_t children;  // of a table or array: how many values it has; each follows with its own children
} ctoml_node;

typedef struct ctoml_document {
  const ctoml_node *nodes;  // the root table first; none if there is an error
  size_t count;
  const char *error;  // NULL if the document is good
  ctoml_place error_place;
} ctoml_document;

// Parses `size` bytes. NULL: out of memory. Everything reachable from the result lives until
// ctoml_free and doesn't need `bytes` any more.
const ctoml_document *ctoml_parse(const char *bytes, size_t size);
void ctoml_free(const ctoml_document *document);

#ifdef __cplusplus
}
#endif
