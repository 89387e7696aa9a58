/* base/spec.c - parses specs; suggests the nearest word.  Numbers: base/number.c. */
#include "base/other_words.h"
#include "base/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MOST = 63 }; /* longest word for which a near one is looked for */

/* ---- parsing ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Replaces each %XX of part in place.  spec: the whole text, for the error. */
static drove_status decode(char *part, const char *spec)
{
    char *to = part;
    for (const char *from = part; *from != '\0'; from++, to++) {
        *to = *from;
        if (*from != '%') continue;
        int high = hex_digit(from[1]);
        int low = high >= 0 ? hex_digit(from[2]) : -1;
        if (low < 0 || (high == 0 && low == 0)) {
            return drove__fail(DROVE_E_ARG,
                               "%s: expected two hexadecimal digits after '%%' "
                               "(write %%25 for '%%' itself), found \"%.2s\"",
                               spec, from + 1);
        }
        *to = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return DROVE_OK;
}

/* Cuts *rest at the first separator and returns what was before it; *rest is NULL after the last
 * part. */
static char *next_part(char **rest, char separator)
{
    char *part = *rest;
    char *cut = strchr(part, separator);
    if (cut != NULL) *cut++ = '\0';
    *rest = cut;
    return part;
}

static drove_status parse_arguments(const char *text, char *rest, drove_spec *spec)
{
    while (rest != NULL) {
        char *argument = next_part(&rest, ',');
        if (*argument == '\0') {
            return drove__fail(DROVE_E_ARG, "%s: argument %u is empty", text, spec->n_args + 1);
        }
        if (spec->n_args == DROVE_SPEC_MAX_ARGS) {
            return drove__fail(DROVE_E_ARG, "%s: expected at most %d arguments, found more", text,
                               DROVE_SPEC_MAX_ARGS);
        }
        DROVE_TRY(decode(argument, text));
        spec->arg[spec->n_args++] = argument;
    }
    return DROVE_OK;
}

static drove_status parse_keys(const char *text, char *rest, drove_spec *spec)
{
    while (rest != NULL) {
        char *key = next_part(&rest, '&');
        char *value = strchr(key, '=');
        if (value == NULL || value == key) {
            return drove__fail(DROVE_E_ARG, "%s: expected key=value after '%c', found \"%s\"%s",
                               text, spec->n_keys == 0 ? '?' : '&', key,
                               spec->n_keys == 0 ? "" : " (write %26 for '&' in a value)");
        }
        *value++ = '\0';
        DROVE_TRY(decode(key, text));
        DROVE_TRY(decode(value, text));
        if (drove__spec_get(spec, key, NULL) != NULL) {
            return drove__fail(DROVE_E_ARG, "%s: \"%s\" is given twice", text, key);
        }
        if (spec->n_keys == DROVE_SPEC_MAX_KEYS) {
            return drove__fail(DROVE_E_ARG, "%s: expected at most %d key=value pairs, found more",
                               text, DROVE_SPEC_MAX_KEYS);
        }
        spec->key[spec->n_keys] = key;
        spec->value[spec->n_keys++] = value;
    }
    return DROVE_OK;
}

void drove__spec_of_path(const char *name, const char *path, char *into, size_t size)
{
    size_t n = (size_t)snprintf(into, size, "%s:", name);
    for (; *path != '\0' && n + 4 < size; path++) {
        if (strchr("?,&%+", *path) != NULL)
            n += (size_t)sprintf(into + n, "%%%02X", (unsigned)*path);
        else into[n++] = *path;
    }
    if (n < size) into[n] = '\0';
}

char *drove__spec_escape(const char *value, char *into, size_t size)
{
    size_t n = 0;
    for (; *value != '\0'; value++) {
        const bool is_special = *value == '&' || *value == '%';
        const size_t n_out = is_special ? 3 : 1;
        if (n + n_out >= size) break;
        if (is_special) snprintf(into + n, n_out + 1, "%%%02X", (unsigned)*value);
        else into[n] = *value;
        n += n_out;
    }
    into[n] = '\0';
    return into;
}

drove_status drove__spec_parse(const char *text, drove_spec *out)
{
    drove_spec spec = {.text = strdup(text)};
    if (spec.text == NULL) return drove__fail_nomem("spec", strlen(text) + 1);
    spec.name = spec.text;
    char *keys = strchr(spec.text, '?');
    if (keys != NULL) *keys++ = '\0';
    char *arguments = strchr(spec.text, ':');
    if (arguments != NULL) *arguments++ = '\0';
    if (arguments != NULL && *arguments == '\0' && keys != NULL) arguments = NULL; /* name:?key= */

    drove_status status = DROVE_OK;
    if (*spec.name == '\0') {
        status = drove__fail(DROVE_E_ARG, "expected name:argument,...?key=value&..., found \"%s\"",
                             text);
    }
    if (status == DROVE_OK) status = parse_arguments(text, arguments, &spec);
    if (status == DROVE_OK) status = parse_keys(text, keys, &spec);
    if (status != DROVE_OK) {
        drove__spec_fini(&spec);
        return status;
    }
    *out = spec;
    return DROVE_OK;
}

void drove__spec_fini(drove_spec *spec)
{
    if (spec == NULL) return;
    free(spec->text);
    memset(spec, 0, sizeof *spec);
}

const char *drove__spec_get(const drove_spec *spec, const char *key, const char *fallback)
{
    for (unsigned i = 0; i < spec->n_keys; i++) {
        if (strcmp(spec->key[i], key) == 0) return spec->value[i];
    }
    return fallback;
}

/* ---- nearest word ---- */

static unsigned least_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Insertions, deletions, substitutions and swaps of neighbours that turn a into b, upper and
 * lower case being equal (optimal string alignment; three rows of the table are enough). */
static unsigned distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    unsigned rows[3][WORD_MOST + 1];
    for (unsigned j = 0; j <= n_b; j++) rows[0][j] = j;
    for (unsigned i = 1; i <= n_a; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3], *above_2 = rows[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= n_b; j++) {
            char x = lower(a[i - 1]), y = lower(b[j - 1]);
            unsigned best = least_of(above[j], row[j - 1]) + 1;
            best = least_of(best, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2])) {
                best = least_of(best, above_2[j - 2] + 1);
            }
            row[j] = best;
        }
    }
    return rows[n_a % 3][n_b];
}

const char *drove__nearest(const char *word, const char *const *candidates, size_t n_candidates)
{
    const char *nearest = NULL;
    unsigned nearest_distance = 0;
    size_t n_word = strlen(word);
    if (n_word > WORD_MOST) return NULL;
    for (size_t i = 0; i < n_candidates; i++) {
        size_t n_candidate = strlen(candidates[i]);
        if (n_candidate > WORD_MOST) continue;
        unsigned d = distance(word, n_word, candidates[i], n_candidate);
        size_t longer = n_word > n_candidate ? n_word : n_candidate;
        if (d > (longer + 2) / 3 || d >= longer) continue; /* a third of the letters may differ */
        if (nearest == NULL || d < nearest_distance) {
            nearest = candidates[i];
            nearest_distance = d;
        }
    }
    return nearest;
}

drove_status drove__fail_unknown(const char *what, const char *word, const char *const *candidates,
                                 size_t n_candidates)
{
    char list[512] = "", other[DROVE_OTHER_SIZE];
    size_t used = 0;
    const char *near = drove__nearest(word, candidates, n_candidates);
    if (drove__other_word(what, word, NULL, other, sizeof other))
        return drove__fail(DROVE_E_ARG, "unknown %s \"%.80s\"; %s", what, word, other);
    if (near != NULL) {
        return drove__fail(DROVE_E_ARG, "unknown %s \"%.80s\"; did you mean \"%s\"?", what, word,
                           near);
    }
    for (size_t i = 0; i < n_candidates && used < sizeof list; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ",
                                 candidates[i]);
    }
    return drove__fail(DROVE_E_ARG, "unknown %s \"%.80s\"; expected one of %s", what, word, list);
}
