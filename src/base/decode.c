/* base/decode.c - see decode.h. */
#include "base/decode.h"

#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct drove_decoder {
    iconv_t cd;
    size_t unit; /* bytes to leave out where there is no character */
    uint64_t n_replaced;
};

static const struct {
    const char *bytes, *encoding;
    size_t n;
} marks[] = {
    {"\xff\xfe\0\0", "UTF-32LE", 4}, /* begins as UTF-16 does */
    {"\0\0\xfe\xff", "UTF-32BE", 4}, {"\xff\xfe", "UTF-16LE", 2},
    {"\xfe\xff", "UTF-16BE", 2},     {"\xef\xbb\xbf", "UTF-8", 3},
};

const char *drove__decode_mark(const void *head, size_t n, size_t *mark_bytes)
{
    for (size_t i = 0; i < DROVE_COUNT(marks); i++) {
        if (n < marks[i].n || memcmp(head, marks[i].bytes, marks[i].n) != 0) continue;
        *mark_bytes = marks[i].n;
        return marks[i].encoding;
    }
    return NULL;
}

enum { NAME_SIZE = 40 };

/* The name without what joins its parts; too long a name is none. */
static bool join_parts(const char *name, char into[NAME_SIZE])
{
    size_t n = 0;
    for (; *name != '\0'; name++) {
        if (*name == '-' || *name == '_' || *name == ' ') continue;
        if (n + 1 == NAME_SIZE || !isalnum((unsigned char)*name)) return false;
        into[n++] = *name;
    }
    into[n] = '\0';
    return n > 0;
}

bool drove__decode_is_utf8(const char *encoding)
{
    char joined[NAME_SIZE];
    if (!join_parts(encoding, joined)) return false;
    return strcasecmp(joined, "utf8") == 0 || strcasecmp(joined, "utf8sig") == 0;
}

drove_status drove__decoder_create(const char *encoding, drove_decoder **out)
{
    char joined[NAME_SIZE];
    *out = NULL;
    iconv_t cd = (iconv_t)-1;
    /* "//" would ask iconv to leave out what it cannot convert */
    if (*encoding != '\0' && strchr(encoding, '/') == NULL) {
        cd = iconv_open("UTF-8", encoding);
        if (cd == (iconv_t)-1 && join_parts(encoding, joined)) cd = iconv_open("UTF-8", joined);
        /* utf_16 without a mark: as Windows writes it */
        if (cd != (iconv_t)-1 && join_parts(encoding, joined) && strcasecmp(joined, "utf16") == 0) {
            iconv_close(cd);
            cd = iconv_open("UTF-8", "UTF-16LE");
        }
    }
    if (cd == (iconv_t)-1)
        return drove__fail(DROVE_E_ARG,
                           "encoding: expected a name such as latin1, cp1251, utf-16 or shift_jis "
                           "(iconv -l lists them), found \"%.40s\"",
                           encoding);
    drove_decoder *d = calloc(1, sizeof *d);
    if (d == NULL) {
        iconv_close(cd);
        return drove__fail_nomem("a decoder", sizeof *d);
    }
    d->cd = cd;
    d->unit = 1;
    if (join_parts(encoding, joined) && strncasecmp(joined, "utf16", 5) == 0) d->unit = 2;
    if (join_parts(encoding, joined) && strncasecmp(joined, "utf32", 5) == 0) d->unit = 4;
    *out = d;
    return DROVE_OK;
}

void drove__decoder_destroy(drove_decoder *d)
{
    if (d == NULL) return;
    iconv_close(d->cd);
    free(d);
}

size_t drove__decoder_step(drove_decoder *d, const uint8_t **in, size_t *n_in, bool is_last,
                           uint8_t *out, size_t n_out)
{
    static const uint8_t replacement[] = {0xef, 0xbf, 0xbd};
    char *from = (char *)(uintptr_t)*in, *to = (char *)out;
    size_t n_left = n_out;
    while (*n_in > 0 && n_left >= sizeof replacement) {
        if (iconv(d->cd, &from, n_in, &to, &n_left) != (size_t)-1) continue;
        if (errno == EINVAL && !is_last) break;        /* the rest of a character is to come */
        if (errno != EINVAL && errno != EILSEQ) break; /* E2BIG: out is full */
        if (n_left < sizeof replacement) break;
        const size_t skipped = errno == EINVAL || *n_in < d->unit ? *n_in : d->unit;
        memcpy(to, replacement, sizeof replacement);
        to += sizeof replacement;
        n_left -= sizeof replacement;
        from += skipped;
        *n_in -= skipped;
        d->n_replaced++;
    }
    *in = (const uint8_t *)from;
    return n_out - n_left;
}

uint64_t drove__decoder_n_replaced(const drove_decoder *d)
{
    return d->n_replaced;
}
