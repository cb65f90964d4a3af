#pragma once
#include <stdint.h>

// This header hides those of ICU, which define names that Foundation's copy of ICU defines too.

/// Returns the version of ICU that this was built with.
const char *cicu_version(void);

/// Writes the NFC form (UAX #15) of UTF-16 text.
///
/// Returns its length in code units, or -1 if it doesn't fit or ICU fails.
int32_t cicu_nfc(const uint16_t *text, int32_t length, uint16_t *output, int32_t capacity);

/// Writes the NFKC form (UAX #15) of UTF-16 text.
///
/// Returns its length in code units, or -1 if it doesn't fit or ICU fails.
int32_t cicu_nfkc(const uint16_t *text, int32_t length, uint16_t *output, int32_t capacity);

/// Writes UTF-16 text with its case folded (Unicode, full default folding).
///
/// Returns its length in code units, or -1 if it doesn't fit or ICU fails.
int32_t cicu_fold_case(const uint16_t *text, int32_t length, uint16_t *output, int32_t capacity);

/// Converts text of a named character set to UTF-16, malformed sequences to U+FFFD.
///
/// Returns its length in code units, or -1 if it doesn't fit or ICU doesn't know the character set.
int32_t cicu_decode(
    const char *charset, const char *bytes, int32_t length, uint16_t *output, int32_t capacity);
