/* plan/workers.c - reads --workers and --threads. */
#include "plan/workers.h"

#include "base/mem.h"
#include "base/status.h"
#include "engine/device.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BATCH = 1 << 30, MOST_PROCESSORS = 4096 };

drove_status drove__threads_parse(const char *text, unsigned n_all, unsigned *out)
{
    uint64_t n;
    if (strcmp(text, "all") == 0) {
        *out = n_all;
        return DROVE_OK;
    }
    if (drove__parse_u64("--threads", text, 1, DROVE_MOST_THREADS, &n) == DROVE_OK) {
        *out = (unsigned)n;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_ARG,
                       "--threads: expected a whole number from 1 to %d, or all, found "
                       "\"%.80s\"",
                       DROVE_MOST_THREADS, text);
}

drove_status drove__workers_expand(const char *text, unsigned local_rank, char *into, size_t size)
{
    size_t used = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (used + 12 >= size)
            return drove__fail(DROVE_E_ARG,
                               "--workers: expected at most %zu characters with %%r replaced, "
                               "found more",
                               size - 12);
        if (at[0] == '%' && at[1] == 'r') {
            used += (size_t)snprintf(into + used, size - used, "%u", local_rank);
            at++;
        } else {
            into[used++] = *at;
        }
    }
    into[used] = '\0';
    return DROVE_OK;
}

/* ---- keys of a worker ---- */

static const drove_spec_key batch_keys[] = {
    {"batch", NULL, DROVE_AS_COUNT(drove_workers_entry, batch, 1, MOST_BATCH),
     .help = "examples of a batch, of cores for each thread"},
    {"min", NULL, DROVE_AS_COUNT(drove_workers_entry, least, 1, MOST_BATCH),
     .help = "of a batch that changes"},
    {"max", NULL, DROVE_AS_COUNT(drove_workers_entry, most, 1, MOST_BATCH),
     .help = "of a batch that changes"},
    DROVE_SPEC_END,
};
static const char *const gradients[] = {"each", "one", NULL};
static const drove_spec_key core_keys[] = {
    DROVE_SPEC_KEYS_TOO(batch_keys),
    {"gradient", "each", DROVE_AS_EITHER(drove_workers_entry, one_gradient, gradients),
     .help = "each thread steps for itself, or all compute one"},
    DROVE_SPEC_END,
};
static const drove_spec_key device_keys[] = {
    DROVE_SPEC_KEYS_TOO(batch_keys),
    /* A first batch may wait for kernels to be compiled. */
    {"timeout", "60", DROVE_AS_REAL(drove_workers_entry, timeout_s, 0.0, 1e9),
     .help = "seconds after which a silent device is lost; 0: none"},
    DROVE_SPEC_END,
};
typedef struct host_settings {
    uint64_t parts;
} host_settings;
static const drove_spec_key host_keys[] = {
    {"parts", NULL, DROVE_AS_COUNT(host_settings, parts, 1, MOST_PROCESSORS),
     .help = "equal groups of the cores; without it as many as there are such workers"},
    DROVE_SPEC_END,
};

/* ---- processes ---- */

static const char procs_word[] = "procs";

bool drove__workers_are_procs(const char *workers)
{
    const size_t n = sizeof procs_word - 1;
    return strncmp(workers, procs_word, n) == 0 && (workers[n] == '\0' || workers[n] == ':');
}

drove_status drove__procs_parse(const char *workers, unsigned n_all, unsigned *out)
{
    const char *count = workers + sizeof procs_word - 1;
    uint64_t n;
    if (*count == '\0' || strcmp(count, ":all") == 0) {
        *out = n_all;
        return DROVE_OK;
    }
    if (drove__parse_u64("--workers", count + 1, 1, DROVE_MOST_PROCS, &n) == DROVE_OK) {
        *out = (unsigned)n;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_ARG,
                       "--workers: expected procs:N, N from 1 to %d or all, found \"%.80s\"",
                       DROVE_MOST_PROCS, workers);
}

/* ---- cores ---- */

/* Room doubles: it is full where the number is 0 or a power of two. */
static drove_status add_processor(drove_workers_entry *g, int pu)
{
    const size_t n = g->n_threads;
    if ((n & (n - 1)) == 0) {
        int *grown = drove__grow(g->pu, n > 0 ? 2 * n : 1, sizeof *grown);
        if (grown == NULL) return drove__fail_nomem("processors of a worker", n * sizeof *grown);
        g->pu = grown;
    }
    g->pu[g->n_threads++] = pu;
    return DROVE_OK;
}

/* All processors there are, in the order in which workers fill them. */
static drove_status add_all(drove_workers_entry *g, const drove_topo *topo, unsigned n_threads)
{
    drove_topo_facts facts = {.n_pus = n_threads};
    if (topo != NULL) drove__topo_facts(topo, &facts);
    drove_place *place = calloc(facts.n_pus, sizeof *place);
    if (place == NULL) return drove__fail_nomem("places", facts.n_pus * sizeof *place);
    drove_status status = DROVE_OK;
    if (topo != NULL) drove__topo_place(topo, DROVE_BIND_COMPACT, facts.n_pus, place);
    for (unsigned i = 0; i < facts.n_pus && status == DROVE_OK; i++)
        status = add_processor(g, topo != NULL ? place[i].pu : (int)i);
    free(place);
    return status;
}

/* "3" or "0-3" */
static drove_status add_span(drove_workers_entry *g, const drove_topo *topo, const char *text)
{
    uint64_t first, last;
    const char *next, *end = text + strlen(text);
    bool ok = drove__scan_u64(text, end, &next, &first);
    last = first;
    if (ok && *next == '-') ok = drove__scan_u64(next + 1, end, &next, &last);
    if (!ok || next != end || last < first || last >= MOST_PROCESSORS) {
        return drove__fail(DROVE_E_ARG,
                           "--workers %s: expected processors such as cpu:0, cpu:0-3, cpu:0,2 or "
                           "cpu:all, found \"%s\"",
                           g->name, text);
    }
    for (uint64_t pu = first; pu <= last; pu++) {
        drove_place place;
        if (topo != NULL && !drove__topo_find(topo, (int)pu, &place)) {
            drove_topo_facts facts;
            drove__topo_facts(topo, &facts);
            return drove__fail(DROVE_E_ARG,
                               "--workers %s: expected processors of the %u that this process may "
                               "use, found number %llu",
                               g->name, facts.n_pus, (unsigned long long)pu);
        }
        DROVE_TRY(add_processor(g, (int)pu));
    }
    return DROVE_OK;
}

/* The K-th of `parts` equal groups of cores; parts: as many as there are such workers. */
static drove_status plan_host(drove_workers_entry *g, const drove_topo *topo, unsigned n_threads,
                              unsigned n_hosts)
{
    uint64_t part = 0;
    host_settings set = {.parts = n_hosts};
    drove_workers_entry all = {0};
    drove_status status = drove__spec_take(&g->spec, host_keys, &set);
    const uint64_t parts = set.parts;
    if (status == DROVE_OK && g->spec.n_args > 0)
        status = drove__parse_u64("host, argument 1", g->spec.arg[0], 0, parts - 1, &part);
    if (status != DROVE_OK) return drove__fail_in(status, "--workers");
    status = add_all(&all, topo, n_threads);
    if (status == DROVE_OK && all.n_threads < parts) {
        status = drove__fail(DROVE_E_ARG,
                             "--workers %s: expected at most %u groups of cores, found %llu",
                             g->name, all.n_threads, (unsigned long long)parts);
    }
    size_t first = (size_t)(all.n_threads * part / parts),
           end = (size_t)(all.n_threads * (part + 1) / parts);
    for (size_t i = first; i < end && status == DROVE_OK; i++) status = add_processor(g, all.pu[i]);
    free(all.pu);
    return status;
}

/* ---- keys ---- */

static drove_status read_keys(drove_workers_entry *g, const drove_device_kind *kind)
{
    const bool is_host = strcmp(g->spec.name, "host") == 0;
    const drove_spec_key all[] = {
        {"PLACE", NULL, .kind = DROVE_SPEC_REST, .is_argument = true},
        DROVE_SPEC_KEYS_TOO(kind != NULL ? device_keys : core_keys),
        DROVE_SPEC_KEYS_TOO(is_host ? host_keys : NULL),
        DROVE_SPEC_KEYS_TOO(kind != NULL ? kind->keys : NULL),
        DROVE_SPEC_END,
    };
    DROVE_TRY(drove__spec_accept(&g->spec, all));
    DROVE_TRY(drove__spec_take(&g->spec, kind != NULL ? device_keys : core_keys, g));

    /* A size to begin with lies within bounds that were given. */
    if (g->least != 0 && g->most != 0 && g->least > g->most) {
        return drove__fail(DROVE_E_ARG, "%s: expected min of at most max, found %llu and %llu",
                           g->name, (unsigned long long)g->least, (unsigned long long)g->most);
    }
    if (g->batch == 0) return DROVE_OK;
    if (g->batch < g->least) {
        return drove__fail(DROVE_E_ARG, "%s: expected batch of at least min, found %llu and %llu",
                           g->name, (unsigned long long)g->batch, (unsigned long long)g->least);
    }
    if (g->most != 0 && g->batch > g->most) {
        return drove__fail(DROVE_E_ARG, "%s: expected batch of at most max, found %llu and %llu",
                           g->name, (unsigned long long)g->batch, (unsigned long long)g->most);
    }
    return DROVE_OK;
}

/* ---- one worker ---- */

static drove_status plan_entry(const char *text, const drove_topo *topo, unsigned n_threads,
                               unsigned n_hosts, drove_workers_entry *g)
{
    drove_status status = drove__spec_parse(text, &g->spec);
    if (status != DROVE_OK) return drove__fail_in(status, "--workers");
    size_t n_name = strcspn(text, "?");
    if (n_name > 0 && text[n_name - 1] == ':') n_name--; /* "fake:?speed=3" */
    snprintf(g->name, sizeof g->name, "%.*s", (int)n_name, text);
    bool is_cpu = strcmp(g->spec.name, "cpu") == 0, is_host = strcmp(g->spec.name, "host") == 0;
    bool is_threads = strcmp(g->spec.name, "threads") == 0,
         is_cores = is_cpu || is_host || is_threads;
    const drove_device_kind *kind = NULL;
    for (size_t i = 0; !is_cores && kind == NULL && drove__device_kinds[i] != NULL; i++)
        if (strcmp(drove__device_kinds[i]->name, g->spec.name) == 0) kind = drove__device_kinds[i];
    if (strcmp(g->spec.name, "procs") == 0) {
        return drove__fail(DROVE_E_ARG,
                           "--workers %s: expected procs:N to stand alone, or a list of threads:, "
                           "cpu:, host:, opencl:, cuda: and fake:",
                           g->name);
    }
    if (!is_cores && kind == NULL) {
        const char *names[DROVE_MOST_ENTRIES];
        size_t n = 0;
        names[n++] = "cpu";
        names[n++] = "host";
        names[n++] = "threads";
        for (size_t i = 0; drove__device_kinds[i] != NULL; i++)
            names[n++] = drove__device_kinds[i]->name;
        return drove__fail_in(drove__fail_unknown("kind of worker", g->spec.name, names, n),
                              "--workers");
    }
    g->is_device = kind != NULL;
    status = read_keys(g, kind);
    if (status != DROVE_OK) return drove__fail_in(status, "--workers");
    if (is_cpu) {
        const drove_spec *s = &g->spec;
        bool all = s->n_args == 0 || (s->n_args == 1 && strcmp(s->arg[0], "all") == 0);
        if (all) return add_all(g, topo, n_threads);
        for (unsigned i = 0; i < s->n_args; i++) DROVE_TRY(add_span(g, topo, s->arg[i]));
        return DROVE_OK;
    }
    if (is_threads) {
        /* N threads that nobody has bound. */
        unsigned n = 0;
        const char *asked = g->spec.n_args > 0 ? g->spec.arg[0] : "all";
        DROVE_TRY(drove__threads_parse(asked, n_threads, &n));
        g->is_threads = true;
        for (unsigned i = 0; i < n; i++) DROVE_TRY(add_processor(g, -1));
        return DROVE_OK;
    }
    if (is_host) return plan_host(g, topo, n_threads, n_hosts);
    return add_processor(g, -1);
}

/* ---- the list ---- */

/* As against those that stand for a part of all there are, whatever these are. */
static bool names_processors(const drove_workers_entry *g)
{
    return strcmp(g->spec.name, "cpu") == 0 && g->spec.n_args > 0 &&
           strcmp(g->spec.arg[0], "all") != 0;
}

static bool share_processor(const drove_workers_entry *a, const drove_workers_entry *b, int *out)
{
    for (unsigned i = 0; i < a->n_threads; i++) {
        for (unsigned j = a == b ? i + 1 : 0; j < b->n_threads; j++) {
            *out = a->pu[i];
            if (a->pu[i] >= 0 && a->pu[i] == b->pu[j]) return true;
        }
    }
    return false;
}

/* "1.2" is part 2 of device 1, "1" all of it (part: UINT64_MAX), nothing device 0.  false: neither,
 * which its kind will say. */
static bool read_device(const drove_workers_entry *g, uint64_t *device, uint64_t *part)
{
    const char *text = g->spec.n_args > 0 ? g->spec.arg[0] : "0", *end = text + strlen(text), *at;
    *part = UINT64_MAX;
    if (!drove__scan_u64(text, end, &at, device)) return false;
    return *at != '.' || drove__scan_u64(at + 1, end, &at, part);
}

/* The same device, or a part of it and all of it.  Of fakes there are as many as are named. */
static bool share_device(const drove_workers_entry *a, const drove_workers_entry *b)
{
    uint64_t device_a, device_b, part_a, part_b;
    if (a == b || !a->is_device || strcmp(a->spec.name, b->spec.name) != 0) return false;
    if (strcmp(a->spec.name, "fake") == 0) return false;
    if (!read_device(a, &device_a, &part_a) || !read_device(b, &device_b, &part_b)) return false;
    if (device_a != device_b) return false;
    return part_a == part_b || part_a == UINT64_MAX || part_b == UINT64_MAX;
}

/* Before the machine is known, only processors that are named can be compared. */
static drove_status check_overlaps(const drove_workers_list *plan, const drove_topo *topo,
                                   bool may_repeat)
{
    for (unsigned i = 0; i < plan->n_entries; i++) {
        for (unsigned j = i; j < plan->n_entries; j++) {
            const drove_workers_entry *a = &plan->entry[i], *b = &plan->entry[j];
            int pu;
            bool known = topo != NULL || (names_processors(a) && names_processors(b));
            if (known && share_processor(a, b, &pu)) {
                return drove__fail(DROVE_E_ARG,
                                   "--workers: expected each processor once, found %d in %s and %s",
                                   pu, a->name, b->name);
            }
            if (!may_repeat && share_device(a, b)) {
                return drove__fail(DROVE_E_ARG,
                                   "--workers: expected each device once, found %s and %s", a->name,
                                   b->name);
            }
        }
    }
    return DROVE_OK;
}

drove_status drove__workers_parse(const char *text, const drove_topo *topo, unsigned n_pus,
                                  bool may_repeat, drove_workers_list *out)
{
    drove_workers_list list = {.entry = calloc(DROVE_MOST_ENTRIES, sizeof *list.entry)};
    if (list.entry == NULL)
        return drove__fail_nomem("workers", DROVE_MOST_ENTRIES * sizeof *list.entry);
    char *copy = strdup(text), *rest = copy, *one;
    drove_status status = copy != NULL ? DROVE_OK : drove__fail_nomem("--workers", strlen(text));
    if (status != DROVE_OK) goto fail;

    /* "cpu:0+", "+cpu:0" or "cpu:0++cpu:1" */
    size_t n = strlen(text);
    if (n == 0 || text[0] == '+' || text[n - 1] == '+' || strstr(text, "++") != NULL) {
        status =
            drove__fail(DROVE_E_ARG,
                        "--workers: expected a worker on each side of '+', found \"%s\"", text);
        goto fail;
    }
    unsigned n_hosts = 0; /* without parts=, host:K is one of so many groups of cores */
    for (const char *at = text; at != NULL; at = strchr(at, '+')) {
        if (*at == '+') at++;
        n_hosts += strncmp(at, "host:", 5) == 0;
    }
    if (n_hosts == 0) n_hosts = 1;
    while ((one = strsep(&rest, "+")) != NULL) {
        if (list.n_entries == DROVE_MOST_ENTRIES) {
            status = drove__fail(DROVE_E_ARG, "--workers: expected at most %d, found more",
                                 DROVE_MOST_ENTRIES);
            goto fail;
        }
        drove_workers_entry *g = &list.entry[list.n_entries++];
        if ((status = plan_entry(one, topo, n_pus, n_hosts, g)) != DROVE_OK) goto fail;
    }
    if ((status = check_overlaps(&list, topo, may_repeat)) != DROVE_OK) goto fail;
    free(copy);
    *out = list;
    return DROVE_OK;
fail:
    free(copy);
    drove__workers_fini(&list);
    return status;
}

void drove__workers_fini(drove_workers_list *plan)
{
    for (unsigned i = 0; i < plan->n_entries; i++) {
        drove__spec_fini(&plan->entry[i].spec);
        free(plan->entry[i].pu);
    }
    free(plan->entry);
    *plan = (drove_workers_list){0};
}
