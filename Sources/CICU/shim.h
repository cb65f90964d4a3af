#pragma once
#include <unicode/unorm2.h>

// ICU's functions are macros that add its version to their names, which Swift does not import.

/// Writes the NFC form of UTF-16 text; returns its length, which may exceed the capacity.
static inline int32_t cicu_nfc(const UChar *text, int32_t length, UChar *output, int32_t capacity,
                               UErrorCode *error) {
  const UNormalizer2 *nfc = unorm2_getNFCInstance(error);
  return unorm2_normalize(nfc, text, length, output, capacity, error);
}
