/* plan/modelled.c - reads machine files; one table says which keys there are. */
#include "plan/modelled.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/spec.h"
#include "base/virtual.h"
#include "base/yaml.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MOST_CPUS: hwloc's time grows with the square: 4 s for 4096. */
enum {
    MOST_BYTES = 1 << 16,
    MOST_KEYS = 32,
    MOST_CORES = 4096,
    MOST_THREADS = 16,
    MOST_CPUS = 4096
};

typedef enum key_kind {
    KEY_NAME, /* text of DROVE_MODELLED_NAME_SIZE */
    KEY_TEXT, /* of DROVE_TEXT_SIZE */
    KEY_COUNT,
    KEY_REAL,
    KEY_MEASURED, /* a number, or the word measured */
    KEY_NAMES,    /* a list of keys of this table */
    KEY_DEVICES
} key_kind;

typedef struct key {
    const char *name;
    key_kind kind;
    size_t at; /* of the struct */
    double least, most;
    bool is_needed;
} key;

#define M(field) offsetof(drove_modelled, field)
#define D(field) offsetof(drove_modelled_device, field)

static const key machine_keys[] = {
    {"name", KEY_NAME, M(name), 0, 0, true},
    {"source", KEY_TEXT, M(source), 0, 0, false},
    {"assumed", KEY_NAMES, M(assumed), 0, 0, false},
    {"sockets", KEY_COUNT, M(sockets), 1, DROVE_MOST_SOCKETS, true},
    {"cores", KEY_COUNT, M(cores), 1, MOST_CORES, true},
    {"smt", KEY_COUNT, M(smt), 1, MOST_THREADS, false},
    {"smt_yield", KEY_REAL, M(smt_yield), 0.1, MOST_THREADS, false},
    {"speed", KEY_REAL, M(speed), 1e-3, 1e3, false},
    {"jitter", KEY_MEASURED, M(jitter), 0, 0.99, false},
    {"memory_gb_s", KEY_REAL, M(memory_gb_s), 0, 1e9, false},
    {"batch_us", KEY_MEASURED, M(batch_us), 0, 1e9, false},
    {"example_us", KEY_MEASURED, M(example_us), 0, 1e9, false},
    {"copy_gb_s", KEY_MEASURED, M(copy_gb_s), 1e-9, 1e9, false},
    {"update_gb_s", KEY_MEASURED, M(update_gb_s), 1e-9, 1e9, false},
    {"take_gb_s", KEY_MEASURED, M(take_gb_s), 0, 1e9, false},
    {"race_gb_s", KEY_REAL, M(race_gb_s), 0, 1e9, false},
    {"line_ns", KEY_MEASURED, M(line_ns), 0, 1e9, false},
    {"far_line_ns", KEY_REAL, M(far_line_ns), 0, 1e9, false},
    {"window_ns", KEY_REAL, M(window_ns), 0, 1e9, false},
    {"hand_over_us", KEY_MEASURED, M(hand_over_us), 0, 1e9, false},
    {"devices", KEY_DEVICES, 0, 0, 0, false},
};

static const key device_keys[] = {
    {"name", KEY_NAME, D(name), 0, 0, true},
    {"examples_per_s", KEY_REAL, D(examples_per_s), 1e-3, 1e9, true},
    {"delay_us", KEY_REAL, D(delay_us), 0, 1e6, false},
    {"transfer_gb_s", KEY_REAL, D(transfer_gb_s), 0, 1e9, false},
    {"memory_gib", KEY_REAL, D(memory_gib), 0, 1e9, false},
};

typedef struct reader {
    drove_yaml *yaml;
    const char *path;
    drove_modelled *out;
} reader;

typedef struct mapping { /* one that is being read, into the struct at `into` */
    const key *keys;
    size_t n_keys;
    void *into;
    int line;             /* where it begins */
    int given[MOST_KEYS]; /* line of each key; 0: not yet */
} mapping;

_Static_assert(DROVE_COUNT(machine_keys) <= MOST_KEYS, "given has room");

static drove_status fail_key(const reader *r, const drove_yaml_item *item, const mapping *m,
                             const char *what)
{
    const char *names[MOST_KEYS];
    for (size_t i = 0; i < m->n_keys; i++) names[i] = m->keys[i].name;
    const char *near = drove__nearest(item->text, names, m->n_keys);
    return drove__yaml_fail(r->yaml, item->line, item->column, "expected %s, found \"%.60s\"%s%s%s",
                            what, item->text, near != NULL ? "; did you mean " : "",
                            near != NULL ? near : "", near != NULL ? "?" : "");
}

static const key *find_key(const mapping *m, const char *name)
{
    for (size_t i = 0; i < m->n_keys; i++)
        if (strcmp(m->keys[i].name, name) == 0) return &m->keys[i];
    return NULL;
}

/* ---- values ---- */

static drove_status read_text(const reader *r, const key *k, const drove_yaml_item *item,
                              size_t size, char *out)
{
    size_t n = strlen(item->text);
    if (n == 0 || n >= size)
        return drove__yaml_fail(r->yaml, item->line, item->column,
                                "%s: expected 1 to %zu bytes, found %zu", k->name, size - 1, n);
    memcpy(out, item->text, n + 1);
    return DROVE_OK;
}

static drove_status read_names(const reader *r, const mapping *m, const drove_yaml_item *begin,
                               char *out)
{
    if (begin->kind != DROVE_YAML_LIST)
        return drove__yaml_unexpected(r->yaml, begin, "a list of keys");
    for (size_t used = 0;;) {
        drove_yaml_item item;
        DROVE_TRY(drove__yaml_next(r->yaml, &item));
        if (item.kind == DROVE_YAML_LIST_END) return DROVE_OK;
        if (item.kind != DROVE_YAML_VALUE)
            return drove__yaml_unexpected(r->yaml, &item, "a key of this file");
        if (find_key(m, item.text) == NULL) return fail_key(r, &item, m, "a key of this file");
        int n =
            snprintf(out + used, DROVE_TEXT_SIZE - used, "%s%s", used > 0 ? ", " : "", item.text);
        if (n < 0 || (size_t)n >= DROVE_TEXT_SIZE - used)
            return drove__yaml_fail(r->yaml, item.line, item.column, "expected fewer keys");
        used += (size_t)n;
    }
}

static drove_status read_mapping(reader *r, mapping *m);

static drove_status read_devices(reader *r, const drove_yaml_item *begin)
{
    drove_modelled *out = r->out;
    if (begin->kind != DROVE_YAML_LIST)
        return drove__yaml_unexpected(r->yaml, begin, "a list of devices");
    for (;;) {
        drove_yaml_item item;
        DROVE_TRY(drove__yaml_next(r->yaml, &item));
        if (item.kind == DROVE_YAML_LIST_END) return DROVE_OK;
        if (item.kind != DROVE_YAML_MAPPING)
            return drove__yaml_unexpected(r->yaml, &item, "the keys of a device");
        if (out->n_devices == DROVE_MODELLED_MOST_DEVICES)
            return drove__yaml_fail(r->yaml, item.line, item.column,
                                    "expected at most %d devices, found more",
                                    DROVE_MODELLED_MOST_DEVICES);
        drove_modelled_device *device = &out->device[out->n_devices];
        mapping m = {.keys = device_keys,
                     .n_keys = DROVE_COUNT(device_keys),
                     .into = device,
                     .line = item.line};
        DROVE_TRY(read_mapping(r, &m));
        if (drove__modelled_device(out, device->name) != NULL)
            return drove__yaml_fail(r->yaml, item.line, item.column,
                                    "expected each device once, found \"%s\" again", device->name);
        out->n_devices++;
    }
}

static drove_status read_value(reader *r, mapping *m, const key *k)
{
    drove_yaml_item item;
    char expected[64];
    char *into = (char *)m->into + k->at;
    DROVE_TRY(drove__yaml_next(r->yaml, &item));
    if (k->kind == KEY_NAMES) return read_names(r, m, &item, into);
    if (k->kind == KEY_DEVICES) return read_devices(r, &item);
    snprintf(expected, sizeof expected, "one value for \"%s\"", k->name);
    if (item.kind != DROVE_YAML_VALUE) return drove__yaml_unexpected(r->yaml, &item, expected);
    if (k->kind == KEY_NAME) return read_text(r, k, &item, DROVE_MODELLED_NAME_SIZE, into);
    if (k->kind == KEY_TEXT) return read_text(r, k, &item, DROVE_TEXT_SIZE, into);
    drove_status status;
    if (k->kind == KEY_COUNT) {
        uint64_t count = 0;
        status =
            drove__parse_u64(k->name, item.text, (uint64_t)k->least, (uint64_t)k->most, &count);
        if (status == DROVE_OK) *(unsigned *)(void *)into = (unsigned)count;
    } else {
        const bool may_be_measured = k->kind == KEY_MEASURED;
        if (may_be_measured && strcmp(item.text, "measured") == 0) {
            *(double *)(void *)into = NAN;
            return DROVE_OK;
        }
        status = drove__parse_real_or(k->name, item.text, may_be_measured ? "measured or " : "",
                                      k->least, k->most, (double *)(void *)into);
    }
    if (status == DROVE_OK) return DROVE_OK;
    return drove__fail_in(DROVE_E_DATA, "%s:%d:%d", r->path, item.line, item.column);
}

/* ---- mappings ---- */

/* Up to the end of the mapping, which has begun. */
static drove_status read_mapping(reader *r, mapping *m)
{
    for (;;) {
        drove_yaml_item item;
        DROVE_TRY(drove__yaml_next(r->yaml, &item));
        if (item.kind == DROVE_YAML_MAPPING_END) break;
        if (item.kind != DROVE_YAML_VALUE)
            return drove__yaml_unexpected(r->yaml, &item, "a key of a machine file");
        const key *k = find_key(m, item.text);
        if (k == NULL) return fail_key(r, &item, m, "a key of a machine file");
        int *given = &m->given[k - m->keys];
        if (*given > 0)
            return drove__yaml_fail(r->yaml, item.line, item.column,
                                    "expected each key once, found \"%s\" again (first on line %d)",
                                    k->name, *given);
        *given = item.line;
        DROVE_TRY(read_value(r, m, k));
    }
    for (size_t i = 0; i < m->n_keys; i++)
        if (m->keys[i].is_needed && m->given[i] == 0)
            return drove__yaml_fail(r->yaml, m->line, 1, "expected a line \"%s: ...\", found none",
                                    m->keys[i].name);
    return DROVE_OK;
}

static void set_defaults(drove_modelled *m)
{
    *m = (drove_modelled){.sockets = 1,
                          .cores = 1,
                          .smt = 1,
                          .smt_yield = 1.25,
                          .speed = 1.0,
                          .batch_us = NAN,
                          .example_us = NAN,
                          .copy_gb_s = NAN,
                          .update_gb_s = NAN,
                          .line_ns = NAN,
                          .hand_over_us = NAN,
                          .far_line_ns = NAN,
                          .window_ns = NAN};
}

drove_status drove__modelled_parse(const char *text, size_t size_bytes, const char *path,
                                   drove_modelled *out)
{
    drove_modelled made;
    reader r = {.path = path, .out = &made};
    mapping m = {
        .keys = machine_keys, .n_keys = DROVE_COUNT(machine_keys), .into = &made, .line = 1};
    int is_empty;
    set_defaults(&made);
    DROVE_TRY(drove__yaml_open(text, size_bytes, path, DROVE_E_DATA, "key: value", &r.yaml));
    drove_status status = drove__yaml_begin(r.yaml, "lines of the form key: value", &is_empty);
    if (status != DROVE_OK) goto end;
    if (is_empty) {
        status = drove__yaml_fail(r.yaml, 1, 1, "expected a machine, found nothing");
        goto end;
    }
    if ((status = read_mapping(&r, &m)) != DROVE_OK) goto end;
    const unsigned long n_cpus = (unsigned long)made.sockets * made.cores * made.smt;
    if (n_cpus > MOST_CPUS)
        status = drove__yaml_fail(r.yaml, 1, 1,
                                  "expected at most %d threads (sockets x cores x smt), found %lu",
                                  MOST_CPUS, n_cpus);
    else if (isnan(made.batch_us) != isnan(made.example_us))
        status = drove__yaml_fail(r.yaml, 1, 1,
                                  "expected both batch_us and example_us, or neither, found one");
    else status = drove__yaml_finish(r.yaml);
end:
    drove__yaml_close(r.yaml);
    if (status == DROVE_OK) *out = made;
    return status;
}

drove_status drove__modelled_read(const char *path, drove_modelled *out)
{
    char *text = NULL;
    size_t size_bytes;
    drove_status status = drove__file_load(path, MOST_BYTES, &text, &size_bytes);
    if (status == DROVE_OK) status = drove__modelled_parse(text, size_bytes, path, out);
    free(text);
    return status;
}

void drove__modelled_here(unsigned n_sockets, unsigned n_cores, unsigned n_threads,
                          drove_modelled *out)
{
    set_defaults(out);
    snprintf(out->name, sizeof out->name, "here");
    snprintf(out->source, sizeof out->source, "measured when the run began");
    out->jitter = NAN;
    out->take_gb_s = NAN;
    out->sockets = n_sockets;
    out->cores = n_cores;
    out->smt = n_threads;
}

const drove_modelled_device *drove__modelled_device(const drove_modelled *m, const char *name)
{
    for (unsigned i = 0; i < m->n_devices; i++)
        if (strcmp(m->device[i].name, name) == 0) return &m->device[i];
    return NULL;
}
