/* table/rewriting.c - see rewriting.h. */
#include "table/rewriting.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a thousand columns of which each has a few: bytes of the table per byte of the text. */
enum { GROWTH_MOST = 64 };

void drove__rewrite_init(drove_rewriting *to, const char *path, const drove_content *from)
{
    const size_t n = (size_t)(from->end - from->text);
    *to = (drove_rewriting){.path = path, .most = SIZE_MAX};
    if (n < ((size_t)1 << 50)) to->most = ((size_t)1 << 20) + GROWTH_MOST * n;
}

void drove__rewrite_add(drove_rewriting *to, const char *text, size_t n)
{
    if (to->failure != DROVE_OK) return;
    if (n > to->most - to->n) {
        to->failure = drove__fail(DROVE_E_DATA,
                                  "%s: expected rows of nearly the same columns, found so few of "
                                  "all columns in each that the table would be %d times as large",
                                  to->path, GROWTH_MOST);
        return;
    }
    if (n > to->capacity - to->n) {
        const size_t wanted = 2 * to->capacity + n + 4096;
        char *grown = realloc(to->text, wanted);
        if (grown == NULL) {
            to->failure = drove__fail_nomem(to->path, wanted);
            return;
        }
        to->text = grown;
        to->capacity = wanted;
    }
    if (n > 0) memcpy(to->text + to->n, text, n);
    to->n += n;
}

void drove__rewrite_add_quoted(drove_rewriting *to, const char *text, size_t n)
{
    drove__rewrite_add(to, "\"", 1);
    while (n > 0) {
        const char *quote = memchr(text, '"', n);
        const size_t part = quote != NULL ? (size_t)(quote - text) + 1 : n;
        drove__rewrite_add(to, text, part);
        if (quote != NULL) drove__rewrite_add(to, "\"", 1);
        text += part;
        n -= part;
    }
    drove__rewrite_add(to, "\"", 1);
}

drove_status drove__rewrite_finish(drove_rewriting *to, drove_status status, drove_content *content)
{
    if (status == DROVE_OK) status = to->failure;
    char *memory = status == DROVE_OK ? drove__alloc(to->n + 1, 1) : NULL; /* a zero ends it */
    if (status == DROVE_OK && memory == NULL) status = drove__fail_nomem(to->path, to->n);
    if (status == DROVE_OK) {
        if (to->n > 0) memcpy(memory, to->text, to->n);
        drove__free(content->memory);
        content->memory = memory;
        content->text = memory;
        content->end = memory + to->n;
        content->has_quote = memchr(memory, '"', to->n) != NULL;
    }
    free(to->text);
    return status;
}
