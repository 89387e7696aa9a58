/* base/json.c - see json.h. */
#include "base/json.h"

#include "base/available.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void drove__json_set(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value) == 0) return;
    json_decref(*object);
    *object = NULL;
}

void drove__json_add(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value) == 0) return;
    json_decref(*list);
    *list = NULL;
}

/* errno alone tells that characters were left out, but it does not prove it (base/available.h):
 * then the text is made anew, and must be the same. */
char *drove__json_dump(const json_t *value, size_t flags)
{
    errno = 0;
    char *text = json_dumps(value, flags);
    if (errno != ENOMEM || text == NULL) return text;
    char *again = json_dumps(value, flags);
    const bool is_whole =
        again != NULL && strcmp(text, again) == 0 && drove__memory_is_there(strlen(text));
    free(again);
    if (is_whole) return text;
    free(text);
    return NULL;
}

/* ---- parsing ---- */

/* A text behind a number at least as long as its longest token: [0.000,TEXT]. */
typedef struct padded {
    const char *text;
    size_t n_bytes, n_zeros, n_number;
    unsigned part;      /* which comes next */
    bool has_no_memory; /* for a digit */
} padded;

/* The scanner's memory has 16 bytes and doubles when one is left.  With a number of 16 characters,
 * or twice that, and so on, it grows for the last digit, and so not for the comma. */
enum { LEAST_NUMBER = 16 };

static size_t longest_token(const char *text, size_t n_bytes)
{
    size_t longest = 0, from = 0;
    bool in_string = false;
    for (size_t i = 0; i < n_bytes; i++) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') i++;
            else in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
            from = i;
        } else if (c == '\0' || strchr(" \t\r\n[]{},:", c) != NULL) {
            from = i + 1;
        }
        if (i + 1 > from + longest) longest = i + 1 - from;
    }
    return longest;
}

/* Does jansson find memory for what its scanner would need next?  errno alone tells that a digit
 * found none, but it does not prove it (base/available.h). */
static bool has_room(size_t n_number)
{
    json_malloc_t take;
    json_free_t give;
    json_get_alloc_funcs(&take, &give);
    void *volatile probe = take(4 * n_number); /* volatile: must not be left out */
    if (probe != NULL) give(probe);
    return probe != NULL;
}

/* For json_load_callback.  The parts come one by one, so when the comma is asked for, the scanner
 * has read the number.  If there was no memory for a digit, the text ends here: a comma or a quote
 * that the scanner dropped would make it fail or write past its memory. */
static size_t next_bytes(void *to, size_t room, void *data)
{
    padded *p = data;
    size_t n = 0;
    switch (p->part) {
    case 0:
        memcpy(to, "[0.", 3);
        n = 3;
        break;
    case 1:
        n = room < p->n_zeros ? room : p->n_zeros;
        memset(to, '0', n); /* NOLINT(bugprone-suspicious-memset-usage): digits */
        p->n_zeros -= n;
        if (p->n_zeros > 0) return n;
        break;
    case 2:
        p->has_no_memory = errno == ENOMEM && !has_room(p->n_number);
        if (p->has_no_memory) return 0;
        memcpy(to, ",", 1);
        n = 1;
        break;
    case 3:
        n = room < p->n_bytes ? room : p->n_bytes;
        memcpy(to, p->text, n);
        p->text += n;
        p->n_bytes -= n;
        if (p->n_bytes > 0) return n;
        break;
    case 4:
        memcpy(to, "]", 1);
        n = 1;
        break;
    default: break;
    }
    p->part++;
    return n;
}

/* NULL: not JSON, or memory ran out.  *may_scan: not for the scanner, as far as is known. */
static json_t *parse_padded(const char *text, size_t n_bytes, size_t flags, bool *may_scan)
{
    padded p = {.text = text, .n_bytes = n_bytes};
    size_t n_number = LEAST_NUMBER, longest = longest_token(text, n_bytes);
    while (n_number < longest) n_number *= 2;
    p.n_zeros = n_number - 2;
    p.n_number = n_number;
    const int before = errno;
    errno = 0;
    json_t *list = json_load_callback(next_bytes, &p, flags, NULL);
    errno = before;
    *may_scan = *may_scan && !p.has_no_memory;
    json_t *value = json_array_size(list) == 2 ? json_array_get(list, 1) : NULL;
    if (!json_is_object(value) && !json_is_array(value)) value = NULL;
    json_incref(value);
    json_decref(list);
    return value;
}

/* Takes both; *out = the first if they are the same, else NULL. */
static bool take_same(json_t *first, json_t *second, json_t **out)
{
    const bool is_same = first != NULL && json_equal(first, second);
    *out = is_same ? first : NULL;
    json_decref(second);
    if (!is_same) json_decref(first);
    return is_same;
}

drove_status drove__json_parse(const char *text, size_t n_bytes, size_t flags, json_error_t *error,
                               json_t **out)
{
    json_error_t again;
    bool may_scan = true;
    json_t *first = parse_padded(text, n_bytes, flags, &may_scan);
    json_t *second = parse_padded(text, n_bytes, flags, &may_scan);
    if (take_same(first, second, out)) return DROVE_OK;
    if (!may_scan) return drove__fail_nomem("JSON", n_bytes);
    first = json_loadb(text, n_bytes, flags, error);
    second = json_loadb(text, n_bytes, flags, &again);
    /* Two failures to parse one text differ, or say nothing, where memory ran out. */
    const bool is_bad = first == NULL && second == NULL &&
                        json_error_code(error) != json_error_out_of_memory &&
                        error->text[0] != '\0' && error->position == again.position &&
                        strcmp(error->text, again.text) == 0;
    if (take_same(first, second, out)) return DROVE_OK;
    return is_bad ? drove__fail(DROVE_E_DATA, "%s", error->text)
                  : drove__fail_nomem("JSON", n_bytes);
}
