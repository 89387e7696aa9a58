/* data/disk/rows_list.c - the list of blocks in the description of rows:FILE: [[offset, pairs,
 * labels, "hash", "hash of the values"], ...].  It is most of the description, and a tree of it
 * would take six times the memory of its text, so that it is scanned in place. */
#include "data/disk/rows_file.h"

#include <string.h>

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0') at++;
    return at;
}

/* Behind the string whose quote is at[0]; end: it is not closed. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end) at++;
    return at < end ? at + 1 : end;
}

/* Behind the bracket that closes the one at at[0]; NULL: there is none. */
static const char *skip_list(const char *at, const char *end)
{
    size_t depth = 0;
    while (at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
            continue;
        }
        depth += *at == '[' || *at == '{';
        depth -= *at == ']' || *at == '}';
        at++;
        if (depth == 0) return at;
    }
    return NULL;
}

/* Behind the key and its colon where one stands here, else `at`. */
static const char *skip_key(const char *at, const char *end)
{
    static const char key[] = "\"blocks\"";
    const size_t n = sizeof key - 1;
    if ((size_t)(end - at) < n || memcmp(at, key, n) != 0) return at;
    const char *colon = skip_space(at + n, end);
    return colon < end && *colon == ':' ? skip_space(colon + 1, end) : at;
}

bool drove__rows_list_find(const char *text, size_t n, drove_rows_list *out)
{
    const char *at = skip_space(text, text + n), *end = text + n;
    if (at < end) at++; /* the description's own brace */
    while (at < end) {
        const char *value = *at == '"' ? skip_key(at, end) : at;
        if (value > at && value < end && *value == '[') {
            *out = (drove_rows_list){.begin = value, .end = skip_list(value, end)};
            out->at = value + 1;
            return out->end != NULL;
        }
        if (*at == '"') at = skip_string(at, end);
        else if (*at == '[' || *at == '{') at = skip_list(at, end);
        else at++;
        if (at == NULL) return false;
    }
    return false;
}

typedef struct scan {
    const char *at, *end;
    bool is_good;
} scan;

static void want(scan *s, char c)
{
    s->at = skip_space(s->at, s->end);
    s->is_good = s->is_good && s->at < s->end && *s->at == c;
    s->at += s->is_good;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

static uint64_t want_number(scan *s, int base)
{
    uint64_t number = 0;
    int n = 0;
    if (base == 10) s->at = skip_space(s->at, s->end);
    for (; s->is_good && s->at < s->end && digit_of(*s->at) < base; s->at++, n++)
        s->is_good = !__builtin_mul_overflow(number, (uint64_t)base, &number) &&
                     !__builtin_add_overflow(number, (uint64_t)digit_of(*s->at), &number);
    s->is_good = s->is_good && n > 0;
    return number;
}

static uint64_t want_hash(scan *s)
{
    want(s, '"');
    uint64_t hash = want_number(s, 16);
    if (s->is_good && *s->at != '"') s->is_good = false; /* no blank before it */
    want(s, '"');
    return hash;
}

bool drove__rows_list_next(drove_rows_list *list, drove_rows_entry *out)
{
    scan s = {.at = skip_space(list->at, list->end), .end = list->end, .is_good = true};
    const bool is_first = list->at == list->begin + 1;
    if (!is_first) want(&s, ',');
    want(&s, '[');
    out->offset = want_number(&s, 10);
    want(&s, ',');
    out->n_stored = want_number(&s, 10);
    want(&s, ',');
    out->n_labels = want_number(&s, 10);
    want(&s, ',');
    out->hash = want_hash(&s);
    want(&s, ',');
    out->value_hash = want_hash(&s);
    want(&s, ']');
    if (s.is_good) list->at = s.at;
    return s.is_good;
}

bool drove__rows_list_is_over(const drove_rows_list *list)
{
    return skip_space(list->at, list->end) == list->end - 1;
}
