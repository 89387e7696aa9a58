/* base/spec_keys.c - reads a spec by the table of its arguments and keys. */
#include "base/spec_keys.h"

#include "base/other_words.h"

#include <stdio.h>
#include <string.h>

enum { WHAT_SIZE = 160, LIST_SIZE = DROVE_SPEC_VALUES_SIZE, MOST_KNOWN = 64 };

static const char *const no_yes[] = {"no", "yes", NULL};

/* ---- what is accepted ---- */

/* The names of a table's keys into known[MOST_KNOWN], from n on; returns how many there are. */
static size_t list_keys(const drove_spec_key *keys, const char **known, size_t n)
{
    for (const drove_spec_key *k = keys; k != NULL && k->name != NULL; k++) {
        if (k->kind == DROVE_SPEC_KEYS) n = list_keys(k->keys, known, n);
        else if (!k->is_argument && n < MOST_KNOWN) known[n++] = k->name;
    }
    return n;
}

/* "a, b or c", as many as fit; each behind `before`. */
static void list_words(const char *before, const char *const *words, size_t n, char into[LIST_SIZE])
{
    size_t used = 0;
    into[0] = '\0';
    for (size_t i = 0; i < n && used < LIST_SIZE; i++) {
        const char *joint = i == 0 ? "" : i + 1 == n ? " or " : ", ";
        const char *colon = *before != '\0' && *words[i] != '\0' ? ":" : "";
        used += (size_t)snprintf(into + used, LIST_SIZE - used, "%s%s%s%s", joint, before, colon,
                                 words[i]);
    }
}

static drove_status fail_key(const drove_spec *spec, const char *key, const char *const *known,
                             size_t n)
{
    char other[DROVE_OTHER_SIZE], list[LIST_SIZE];
    const char *near = drove__nearest(key, known, n);
    if (n == 0) {
        return drove__fail(DROVE_E_ARG, "%s: unknown key \"%s\"; %s has no keys", spec->name, key,
                           spec->name);
    }
    if (drove__other_word("key of a spec", key, NULL, other, sizeof other))
        return drove__fail(DROVE_E_ARG, "%s: unknown key \"%s\"; %s", spec->name, key, other);
    if (near != NULL) {
        return drove__fail(DROVE_E_ARG, "%s: unknown key \"%s\"; did you mean \"%s\"?", spec->name,
                           key, near);
    }
    list_words("", known, n, list);
    return drove__fail(DROVE_E_ARG, "%s: unknown key \"%s\"; expected %s", spec->name, key, list);
}

drove_status drove__spec_accept(const drove_spec *spec, const drove_spec_key *keys)
{
    unsigned least = 0, most = 0;
    for (const drove_spec_key *k = keys; k != NULL && k->is_argument; k++) {
        const bool has_rest = k->kind == DROVE_SPEC_COUNTS || k->kind == DROVE_SPEC_REST;
        most = has_rest ? DROVE_SPEC_MAX_ARGS : most + 1;
        least += k->is_needed;
    }
    if (spec->n_args > most) {
        return drove__fail(DROVE_E_ARG, "%s: expected %s%u argument%s, found %u", spec->name,
                           most > 0 ? "at most " : "", most, most == 1 ? "" : "s", spec->n_args);
    }
    const char *known[MOST_KNOWN];
    const size_t n = list_keys(keys, known, 0);
    for (unsigned i = 0; i < spec->n_keys; i++) {
        size_t at = 0;
        while (at < n && strcmp(known[at], spec->key[i]) != 0) at++;
        if (at == n) return fail_key(spec, spec->key[i], known, n);
    }
    if (spec->n_args >= least) return DROVE_OK;
    char form[LIST_SIZE]; /* "momentum:MU", "step:FACTOR,EPOCHS" */
    size_t used = (size_t)snprintf(form, sizeof form, "%.80s", spec->name);
    for (const drove_spec_key *k = keys; k->is_argument && used < sizeof form; k++)
        used += (size_t)snprintf(form + used, sizeof form - used, "%c%s", k == keys ? ':' : ',',
                                 k->name);
    return drove__fail(DROVE_E_ARG, "%s: expected %s, found %u argument%s", spec->name, form,
                       spec->n_args, spec->n_args == 1 ? "" : "s");
}

/* ---- values ---- */

static drove_status read_word(const drove_spec *spec, const drove_spec_key *key, const char *what,
                              const char *text, unsigned *out)
{
    const char *const *words = key->words != NULL ? key->words : no_yes;
    char list[LIST_SIZE];
    unsigned n = 0;
    for (; words[n] != NULL; n++) {
        if (strcmp(words[n], text) != 0) continue;
        *out = n;
        return DROVE_OK;
    }
    list_words(key->is_argument ? spec->name : "", words, n, list);
    if (!key->is_argument)
        return drove__fail(DROVE_E_ARG, "%s: expected %s, found \"%s\"", what, list, text);
    const char *near = drove__nearest(text, words, n);
    return drove__fail(DROVE_E_ARG, "%s: expected %s, found \"%.80s\"%s%s%s", spec->name, list,
                       text, near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                       near != NULL ? "?" : "");
}

/* 32 or 24x32 */
static drove_status read_sides(const drove_spec_key *key, const char *what, const char *text,
                               drove_sides *out)
{
    const uint64_t least = key->count.least, most = key->count.most;
    const char *next, *end = text + strlen(text);
    uint64_t rows = 0;
    bool ok = drove__scan_u64(text, end, &next, &rows);
    uint64_t columns = rows;
    if (ok && *next == 'x') ok = drove__scan_u64(next + 1, end, &next, &columns);
    if (!ok || next != end || rows < least || rows > most || columns < least || columns > most) {
        return drove__fail(DROVE_E_ARG,
                           "%s: expected a side, or HEIGHTxWIDTH, of %llu to %llu, found \"%.40s\"",
                           what, (unsigned long long)least, (unsigned long long)most, text);
    }
    *out = (drove_sides){.height = (size_t)rows, .width = (size_t)columns};
    return DROVE_OK;
}

static drove_status read_value(const drove_spec *spec, const drove_spec_key *key, const char *what,
                               const char *text, void *to)
{
    uint64_t bit = 0;
    unsigned place = 0;
    double real = 0.0;
    switch (key->kind) {
    case DROVE_SPEC_COUNT:
        return drove__parse_u64(what, text, key->count.least, key->count.most, to);
    case DROVE_SPEC_REAL: return drove__parse_real(what, text, key->real.least, key->real.most, to);
    case DROVE_SPEC_FLOAT:
        DROVE_TRY(drove__parse_real(what, text, key->real.least, key->real.most, &real));
        *(float *)to = (float)real;
        return DROVE_OK;
    case DROVE_SPEC_WORD: return read_word(spec, key, what, text, to);
    case DROVE_SPEC_FLAG:
        DROVE_TRY(read_word(spec, key, what, text, &place));
        *(bool *)to = key->words == NULL ? place == 1 : key->words[place + 1] == NULL;
        return DROVE_OK;
    case DROVE_SPEC_BIT:
        DROVE_TRY(drove__parse_u64(what, text, 0, 1, &bit));
        *(bool *)to = bit == 1;
        return DROVE_OK;
    case DROVE_SPEC_TEXT: *(const char **)to = text; return DROVE_OK;
    case DROVE_SPEC_BYTES: return drove__parse_bytes(what, text, to);
    case DROVE_SPEC_SIDES: return read_sides(key, what, text, to);
    case DROVE_SPEC_COUNTS:
    case DROVE_SPEC_REST:
    case DROVE_SPEC_KEYS: break;
    }
    return DROVE_OK;
}

/* "hogwild?copy" and "mlp, argument 2": how an error names its place. */
static const char *name_argument(const drove_spec *spec, unsigned i, char what[WHAT_SIZE])
{
    snprintf(what, WHAT_SIZE, "%.100s, argument %u", spec->name, i + 1);
    return what;
}

drove_status drove__spec_take(const drove_spec *spec, const drove_spec_key *keys, void *settings)
{
    char what[WHAT_SIZE];
    unsigned argument = 0;
    for (const drove_spec_key *k = keys; k != NULL && k->name != NULL; k++) {
        char *to = (char *)settings + k->offset;
        if (k->kind == DROVE_SPEC_KEYS) {
            DROVE_TRY(drove__spec_take(spec, k->keys, to));
            continue;
        }
        if (k->kind == DROVE_SPEC_COUNTS) {
            drove_counts *all = (drove_counts *)to;
            for (all->n = 0; argument < spec->n_args; argument++) {
                DROVE_TRY(drove__parse_u64(name_argument(spec, argument, what), spec->arg[argument],
                                           k->count.least, k->count.most, &all->of[all->n]));
                all->n++;
            }
            continue;
        }
        const char *text = NULL;
        if (!k->is_argument) text = drove__spec_get(spec, k->name, NULL);
        else if (argument < spec->n_args) text = spec->arg[argument];
        if (k->is_argument) name_argument(spec, argument++, what);
        else snprintf(what, sizeof what, "%.75s?%.75s", spec->name, k->name);
        if (text == NULL) text = k->default_text;
        if (text == NULL || (k->word != NULL && strcmp(text, k->word) == 0)) continue;
        DROVE_TRY(read_value(spec, k, what, text, to));
    }
    return DROVE_OK;
}

drove_status drove__spec_read(const drove_spec *spec, const drove_spec_key *keys, void *settings)
{
    DROVE_TRY(drove__spec_accept(spec, keys));
    return drove__spec_take(spec, keys, settings);
}

/* ---- what a table says ---- */

void drove__spec_walk(const drove_spec_key *keys,
                      void (*tell)(const drove_spec_key *key, void *context), void *context)
{
    for (const drove_spec_key *k = keys; k != NULL && k->name != NULL; k++) {
        if (k->kind == DROVE_SPEC_KEYS) drove__spec_walk(k->keys, tell, context);
        else tell(k, context);
    }
}

void drove__spec_name_values(const drove_spec_key *key, char into[DROVE_SPEC_VALUES_SIZE])
{
    const unsigned long long least = key->count.least, most = key->count.most;
    const char *const *words = key->words != NULL ? key->words : no_yes;
    char range[DROVE_RANGE_SIZE];
    unsigned n = 0;
    switch (key->kind) {
    case DROVE_SPEC_COUNT:
    case DROVE_SPEC_COUNTS:
        if (most == UINT64_MAX)
            snprintf(into, DROVE_SPEC_VALUES_SIZE, "a whole number of at least %llu", least);
        else
            snprintf(into, DROVE_SPEC_VALUES_SIZE, "a whole number from %llu to %llu", least, most);
        return;
    case DROVE_SPEC_REAL:
    case DROVE_SPEC_FLOAT:
        drove__name_range(key->real.least, key->real.most, range);
        snprintf(into, DROVE_SPEC_VALUES_SIZE, "a number%s", range);
        return;
    case DROVE_SPEC_WORD:
    case DROVE_SPEC_FLAG:
        if (*words[0] == '\0') words++; /* an argument that may be left out */
        while (words[n] != NULL) n++;
        list_words("", words, n, into);
        return;
    case DROVE_SPEC_BIT: snprintf(into, DROVE_SPEC_VALUES_SIZE, "0 or 1"); return;
    case DROVE_SPEC_BYTES:
        snprintf(into, DROVE_SPEC_VALUES_SIZE, "bytes, also with KiB, MiB or GiB");
        return;
    case DROVE_SPEC_SIDES:
        snprintf(into, DROVE_SPEC_VALUES_SIZE, "a side or HEIGHTxWIDTH, from %llu to %llu", least,
                 most);
        return;
    case DROVE_SPEC_TEXT:
    case DROVE_SPEC_REST:
    case DROVE_SPEC_KEYS: break;
    }
    into[0] = '\0';
}

/* ---- specs that are changed ---- */

bool drove__spec_knows(const drove_spec_key *keys, const char *name)
{
    const char *known[MOST_KNOWN];
    const size_t n = list_keys(keys, known, 0);
    for (size_t i = 0; i < n; i++)
        if (strcmp(known[i], name) == 0) return true;
    return false;
}

drove_status drove__spec_set(drove_spec *spec, const char *key, const char *value)
{
    unsigned at = 0;
    while (at < spec->n_keys && strcmp(spec->key[at], key) != 0) at++;
    if (at == DROVE_SPEC_MAX_KEYS)
        return drove__fail(DROVE_E_ARG, "%s: expected fewer than %d keys", spec->name,
                           DROVE_SPEC_MAX_KEYS);
    spec->key[at] = key;
    spec->value[at] = value;
    if (at == spec->n_keys) spec->n_keys++;
    return DROVE_OK;
}

void drove__spec_add(drove_spec *spec, const drove_spec_key *keys, const char *key,
                     const char *value)
{
    if (!drove__spec_knows(keys, key) || spec->n_keys == DROVE_SPEC_MAX_KEYS ||
        drove__spec_get(spec, key, NULL) != NULL)
        return;
    spec->key[spec->n_keys] = key;
    spec->value[spec->n_keys++] = value;
}
