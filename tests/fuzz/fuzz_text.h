/* tests/fuzz/fuzz_text.h - what targets of texts share: an input with a final NUL in memory of its
 * own, and what every refusal must be.
 */
#ifndef DROVE_TESTS_FUZZ_TEXT_H
#define DROVE_TESTS_FUZZ_TEXT_H

#include <drove/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

/* From malloc, so that AddressSanitizer sees a read past the end. */
static inline char *fuzz_text(const uint8_t *data, size_t size_bytes)
{
    char *text = malloc(size_bytes + 1);
    if (text == NULL) abort();
    if (size_bytes > 0) memcpy(text, data, size_bytes);
    text[size_bytes] = '\0';
    return text;
}

/* A text of one line that says why, with a status that a bad input may have. */
static inline void fuzz_check_refusal(drove_status status)
{
    const char *error = drove_error_text();
    if (error[0] == '\0' || strpbrk(error, "\r\n") != NULL) abort();
    switch (status) {
    case DROVE_E_ARG:
    case DROVE_E_SHAPE:
    case DROVE_E_DATA:
    case DROVE_E_FILE:
    case DROVE_E_IO:
    case DROVE_E_NOMEM:
    case DROVE_E_EXISTS:
    case DROVE_E_NONFINITE:
    case DROVE_E_UNSUPPORTED: return;
    case DROVE_OK:
    case DROVE_E_SYSTEM: break;
    }
    abort();
}

/* Whether it was accepted; a refusal is checked. */
static inline bool fuzz_is_ok(drove_status status)
{
    if (status != DROVE_OK) fuzz_check_refusal(status);
    return status == DROVE_OK;
}

#endif
