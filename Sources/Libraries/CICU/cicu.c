#include "cicu.h"

#include <unicode/ucnv.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>
#include <unicode/uvernum.h>

const char *cicu_version(void) { return U_ICU_VERSION; }

int32_t cicu_nfc(const uint16_t *text, int32_t length, uint16_t *output, int32_t capacity) {
  UErrorCode error = U_ZERO_ERROR;
  const UNormalizer2 *nfc = unorm2_getNFCInstance(&error);
  int32_t needed = unorm2_normalize(nfc, text, length, output, capacity, &error);
  return U_FAILURE(error) ? -1 : needed;
}

int32_t cicu_nfkc(const uint16_t *text, int32_t length, uint16_t *output, int32_t capacity) {
  UErrorCode error = U_ZERO_ERROR;
  const UNormalizer2 *nfkc = unorm2_getNFKCInstance(&error);
  int32_t needed = unorm2_normalize(nfkc, text, length, output, capacity, &error);
  return U_FAILURE(error) ? -1 : needed;
}

int32_t cicu_fold_case(const uint16_t *text, int32_t length, uint16_t *output, int32_t capacity) {
  UErrorCode error = U_ZERO_ERROR;
  int32_t needed = u_strFoldCase(output, capacity, text, length, U_FOLD_CASE_DEFAULT, &error);
  return U_FAILURE(error) ? -1 : needed;
}

int32_t cicu_decode(
    const char *charset, const char *bytes, int32_t length, uint16_t *output, int32_t capacity) {
  UErrorCode error = U_ZERO_ERROR;
  UConverter *converter = ucnv_open(charset, &error);
  if (U_FAILURE(error)) return -1;
  int32_t needed = ucnv_toUChars(converter, output, capacity, bytes, length, &error);
  ucnv_close(converter);
  return U_FAILURE(error) ? -1 : needed;
}
