/* base/decode.h - text in another encoding becomes UTF-8, by iconv. */
#ifndef DROVE_BASE_DECODE_H
#define DROVE_BASE_DECODE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct drove_decoder drove_decoder;

/* The encoding that a mark at the start of a text names, and the bytes of the mark; NULL: there is
 * none.  "UTF-8" needs no decoder. */
const char *drove__decode_mark(const void *head, size_t n, size_t *mark_bytes);

/* True for the names of UTF-8, for which there is nothing to do. */
bool drove__decode_is_utf8(const char *encoding);

/* encoding: a name that iconv knows; also as Python spells it ("latin-1", "utf_16").
 * Errors: DROVE_E_ARG (no such encoding), DROVE_E_NOMEM. */
drove_status drove__decoder_create(const char *encoding, drove_decoder **out);
void         drove__decoder_destroy(drove_decoder *d); /* NULL accepted */

/* Bytes that it wrote to out[n_out], n_out >= 8, of the characters at *in, which moves on; fewer
 * than a character may be left there unless is_last.  A byte or a unit that is no character becomes
 * U+FFFD, and is counted. */
size_t   drove__decoder_step(drove_decoder *d, const uint8_t **in, size_t *n_in, bool is_last,
                             uint8_t *out, size_t n_out);
uint64_t drove__decoder_n_replaced(const drove_decoder *d);

#endif
