/* about/list.c - drove_list: every registry that the program knows, as text or JSON. */
#include "about/list.h"

#include "about/combinations.h"
#include "about/info.h"
#include "base/given.h"
#include "base/json.h"
#include "base/locale.h"
#include "base/spec.h"
#include "config/registry.h"
#include "data/common.h"

#include <drove/train.h>

#include <stdlib.h>
#include <string.h>

/* Beside the registries of the run: our own, and one that the program may add, before it. */
static const drove_named combinations = {"combinations", "which strategy runs on which workers", "",
                                         NULL};
static drove_list_more more; /* at NULL: none; set before any thread */

void drove__list_add(drove_list_more registry)
{
    more = registry;
}

/* The registries themselves. */
static bool kind_at(size_t i, drove_named *out)
{
    drove_named unused;
    size_t n = 0;
    if (drove__registry_kind(i, out)) return true;
    while (drove__registry_kind(n, &unused)) n++;
    const size_t n_more = more.at != NULL;
    if (i - n > n_more) return false;
    *out = i - n == n_more ? combinations : more.kind;
    return true;
}

/* A word that leaves the choice among a kind's entries to the run. */
static const struct {
    const char *kind;
    drove_named entry;
} choices[] = {
    {"strategies",
     {"auto", "the fastest here by a short probe, on one thread or more (drove train)", "", NULL}},
};

static bool entry_at(const char *kind, size_t i, drove_named *out)
{
    if (kind == NULL) return kind_at(i, out);
    if (more.at != NULL && strcmp(kind, more.kind.name) == 0) return more.at(i, out);
    if (drove__registry_at(kind, i, out)) return true;

    /* the choice comes after the last entry */
    drove_named last;
    for (size_t c = 0; c < DROVE_COUNT(choices); c++) {
        if (strcmp(choices[c].kind, kind) != 0) continue;
        *out = choices[c].entry;
        return i > 0 && drove__registry_at(kind, i - 1, &last);
    }
    return false;
}

/* ---- arguments and keys ---- */

static void add_key(const drove_spec_key *key, void *context)
{
    char values[DROVE_SPEC_VALUES_SIZE];
    drove__spec_name_values(key, values);
    json_t *object = json_pack("{s:s, s:b, s:s, s:s?, s:s}", "name", key->name, "is_argument",
                               (int)key->is_argument, "values", values, "default",
                               key->default_text, "help", key->help);
    json_t *array = context;
    drove__json_add(&array, object);
}

static int width_of(const drove_spec_key *key)
{
    return (int)strlen(key->name) + !key->is_argument;
}

static void widen(const drove_spec_key *key, void *context)
{
    int *width = context;
    if (width_of(key) > *width) *width = width_of(key);
}

typedef struct printing {
    FILE *stream;
    int width, written; /* of the first column; < 0: the stream has failed */
} printing;

static void print_key(const drove_spec_key *key, void *context)
{
    printing *p = context;
    char values[DROVE_SPEC_VALUES_SIZE];
    const bool has_default = key->default_text != NULL && key->default_text[0] != '\0';
    drove__spec_name_values(key, values);
    if (p->written < 0) return;
    p->written = fprintf(p->stream, "%s%s%*s  %s%s%s%s%s%s\n", key->name,
                         key->is_argument ? "" : "=", p->width - width_of(key), "", key->help,
                         values[0] != '\0' ? "; " : "", values, has_default ? " [" : "",
                         has_default ? key->default_text : "", has_default ? "]" : "");
}

/* The keys of every data set stand in no row. */
static const drove_spec_key *common_keys(const char *kind)
{
    return strcmp(kind, "data") == 0 ? drove__common_keys : NULL;
}

/* Of one entry: "rules:adam". */
static drove_status print_keys(const char *kind, const char *name, bool as_json, FILE *stream)
{
    enum { MOST = 64 };
    printing p = {.stream = stream};
    const char *names[MOST];
    drove_named entry = {.name = NULL};
    size_t n = 0;
    bool is_known = false;
    for (; !is_known && n < MOST && entry_at(kind, n, &entry); n++) {
        names[n] = entry.name;
        is_known = strcmp(entry.name, name) == 0;
    }
    if (!is_known) return drove__fail_unknown("name", name, names, n);
    const drove_spec_key *const tables[] = {entry.keys, common_keys(kind)};
    json_t *array = as_json ? json_array() : NULL;
    for (size_t i = 0; i < DROVE_COUNT(tables); i++) {
        drove__spec_walk(tables[i], widen, &p.width);
        if (as_json) drove__spec_walk(tables[i], add_key, array);
    }
    if (as_json) return drove__about_print_json(array, "list", stream);
    for (size_t i = 0; i < DROVE_COUNT(tables); i++) drove__spec_walk(tables[i], print_key, &p);
    return p.written < 0 ? drove__fail(DROVE_E_IO, "list: cannot be written") : DROVE_OK;
}

static drove_status print_json(const char *kind, FILE *stream)
{
    drove_named entry;
    json_t *array = json_array();
    for (size_t i = 0; entry_at(kind, i, &entry); i++) {
        json_t *keys = json_array();
        drove__spec_walk(entry.keys, add_key, keys);
        if (kind != NULL) drove__spec_walk(common_keys(kind), add_key, keys);
        json_t *object = json_pack("{s:s, s:s, s:s, s:o}", "name", entry.name, "help", entry.help,
                                   "source", entry.source, "keys", keys);
        drove__json_add(&array, object);
    }
    return drove__about_print_json(array, "list", stream);
}

/* One line an entry; its first word is the name, which the completion of the program relies on. */
static drove_status print_text(const char *kind, FILE *stream)
{
    drove_named entry;
    int width = 0;
    for (size_t i = 0; entry_at(kind, i, &entry); i++) {
        if ((int)strlen(entry.name) > width) width = (int)strlen(entry.name);
    }
    for (size_t i = 0; entry_at(kind, i, &entry); i++) {
        bool has_source = entry.source[0] != '\0';
        int written = fprintf(stream, "%-*s  %s%s%s%s\n", width, entry.name, entry.help,
                              has_source ? "  [" : "", entry.source, has_source ? "]" : "");
        if (written < 0) return drove__fail(DROVE_E_IO, "list: cannot be written");
    }
    return DROVE_OK;
}

drove_status drove_list(const char *kind, int as_json, FILE *stream)
{
    DROVE_GIVEN(stream);
    DROVE_IN_C_LOCALE;
    enum { MOST = 32 };
    const char *names[MOST], *colon = kind != NULL ? strchr(kind, ':') : NULL;
    char before[64];
    size_t n = 0;
    bool is_known = kind == NULL;
    if (colon != NULL) {
        snprintf(before, sizeof before, "%.*s", (int)(colon - kind), kind);
        kind = before;
    }
    for (drove_named entry; !is_known && n < MOST && kind_at(n, &entry); n++) {
        names[n] = entry.name;
        is_known = strcmp(entry.name, kind) == 0;
    }
    if (!is_known) return drove__fail_unknown("kind of names", kind, names, n);
    if (colon != NULL) return print_keys(kind, colon + 1, as_json != 0, stream);
    if (kind != NULL && strcmp(kind, combinations.name) == 0)
        return drove__combinations_print(as_json, stream);
    return as_json ? print_json(kind, stream) : print_text(kind, stream);
}
