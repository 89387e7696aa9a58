/* about/info.c - what a run would use: processor, caches, memory, kernels, engines, devices, and
 * where its workers would run. */
#include "about/info.h"

#include "base/alive.h"
#include "base/cpu.h"
#include "base/given.h"
#include "base/json.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/topo.h"
#include "kernel/kernel.h"
#include "config/registry.h"
#include "config/words.h"
#include "config/resolve.h"

#include <drove/train.h>
#include <drove/version.h>

#include <stdlib.h>
#include <string.h>

enum { MOST_FEATURES = 8, LISTED_WORKERS = 64 };

typedef struct machine_facts {
    drove_topo *topo;
    drove_topo_facts facts;
    drovek_table kernels;
    drove_plan workers;
    drove_place *place; /* [workers.n_workers] */
    const drove_config *config;
    drove_speeds speeds; /* n 0: not measured */
    unsigned n_features;
    const char *feature[MOST_FEATURES];
} machine_facts;

const char *drove_version(void)
{
    return DROVE_VERSION;
}

int drove_version_number(void)
{
    return DROVE_VERSION_NUMBER;
}

/* ---- gathering ---- */

static drove_status gather(const drove_config *config, bool measure, machine_facts *m)
{
    memset(m, 0, sizeof *m);
    m->config = config;
    DROVE_TRY(drove__topo_create(NULL, &m->topo));
    drove__topo_facts(m->topo, &m->facts);

    static const struct {
        uint32_t bit;
        const char *name;
    } known[] = {{DROVE_CPU_AVX2, "avx2"},        {DROVE_CPU_AVX512, "avx512"},
                 {DROVE_CPU_VNNI, "avx512_vnni"}, {DROVE_CPU_BF16, "avx512_bf16"},
                 {DROVE_CPU_AMX, "amx"},          {DROVE_CPU_NEON, "neon"}};
    uint32_t have = drove__cpu_features();
    for (size_t i = 0; i < DROVE_COUNT(known); i++) {
        if (have & known[i].bit) m->feature[m->n_features++] = known[i].name;
    }

    DROVE_TRY(drovek_select(&m->kernels, drove__cpu_features(), config->machine.isa));
    const drove_machine machine = {
        .topo = m->topo, .n_pus = m->facts.n_pus, .n_ranks = 1, .n_local = 1};
    const drove_plan_wanted wanted = drove__config_plan(config);
    DROVE_TRY(drove__plan_make(&wanted, &machine, &drove__plan_registry, &m->workers));
    m->place = drove__grow(NULL, m->workers.n_workers, sizeof *m->place);
    if (m->place == NULL) {
        return drove__fail_nomem("workers", m->workers.n_workers * sizeof *m->place);
    }
    drove__plan_places(&m->workers, m->place);
    return measure ? drove__measure_devices(config, &m->kernels, &m->speeds) : DROVE_OK;
}

/* ---- for people ---- */

static const char *plural(unsigned n)
{
    return n == 1 ? "" : "s";
}

static const char *bind_name(drove_bind bind)
{
    return bind == DROVE_BIND_NONE ? "none" : bind == DROVE_BIND_COMPACT ? "compact" : "spread";
}

static void print_text(const machine_facts *m, FILE *stream)
{
    const drove_topo_facts *t = &m->facts;
    char memory[32];
    fprintf(stream, "drove       %s\n", drove_version());
    fprintf(stream, "processor   %s\n", drove__cpu_model());
    fprintf(stream, "            %u core%s, %u thread%s, %u NUMA node%s, %u package%s", t->n_cores,
            plural(t->n_cores), t->n_pus, plural(t->n_pus), t->n_nodes, plural(t->n_nodes),
            t->n_packages, plural(t->n_packages));
    for (unsigned i = 0; i < m->n_features; i++) {
        fprintf(stream, "%s%s", i == 0 ? "; " : " ", m->feature[i]);
    }
    fprintf(stream, "\n");

    const struct {
        const char *name;
        size_t bytes;
    } cache[] = {{"L1d", t->l1d_bytes}, {"L2", t->l2_bytes}, {"L3", t->l3_bytes}};
    bool any = false;
    char text[32];
    fprintf(stream, "caches      ");
    for (size_t i = 0; i < DROVE_COUNT(cache); i++) {
        if (cache[i].bytes == 0) continue;
        fprintf(stream, "%s%s %s", any ? ", " : "", cache[i].name,
                drove__info_bytes(cache[i].bytes, text));
        any = true;
    }
    fprintf(stream, "%s\n", any ? "" : "unknown");

    fprintf(stream, "memory      %s\n", drove__info_bytes(t->memory_bytes, memory));
    fprintf(stream, "kernels     %s, of", m->kernels.isa);
    for (const char *const *tier = drovek_tiers(); *tier != NULL; tier++) {
        fprintf(stream, " %s", *tier);
    }
    fprintf(stream, "\nproducts    %s\n", m->kernels.gemm_source);
    fprintf(stream, "engines    ");
    for (const drove_engine_ops *const *e = drove__engines; *e != NULL; e++) {
        fprintf(stream, " %s", (*e)->name);
    }
    fprintf(stream, "\n");
    drove__info_print_devices(stream);

    const drove_plan *w = &m->workers;
    fprintf(stream, "workers     %u, strategy %s, bind %s\n", w->n_workers, w->spec,
            bind_name(w->bind));
    if (w->bind == DROVE_BIND_NONE)
        fprintf(stream, "            the operating system places them\n");
    const unsigned n_bound = w->bind != DROVE_BIND_NONE ? w->n_workers : 0;
    for (unsigned i = 0; i < n_bound && i < LISTED_WORKERS; i++)
        fprintf(stream, "            %-4u processor %d, core %d, NUMA node %d\n", i, m->place[i].pu,
                m->place[i].core, m->place[i].node);
    if (n_bound > LISTED_WORKERS)
        fprintf(stream, "            ... and %u more (--json lists all)\n",
                n_bound - LISTED_WORKERS);
    if (m->speeds.n > 0) drove__info_print_speeds(m->config, &m->speeds, stream);
}

/* ---- for programs ---- */

static json_t *json_names(const char *const *name, size_t n_names)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n_names; i++) drove__json_add(&array, json_string(name[i]));
    return array;
}

/* A place that is not bound is null. */
static json_t *json_index(int index)
{
    return index >= 0 ? json_integer(index) : json_null();
}

static drove_status print_json(const machine_facts *m, FILE *stream)
{
    const drove_topo_facts *t = &m->facts;
    const drove_plan *w = &m->workers;
    const char *const *tiers = drovek_tiers();
    json_t *engines = json_array(), *places = json_array();
    size_t n_tiers = 0;
    while (tiers[n_tiers] != NULL) n_tiers++;
    for (const drove_engine_ops *const *e = drove__engines; *e != NULL; e++) {
        drove__json_add(&engines, json_string((*e)->name));
    }
    for (unsigned i = 0; i < w->n_workers; i++) {
        const drove_place *place = &m->place[i];
        drove__json_add(&places, json_pack("{s:i, s:o, s:o, s:o}", "worker", (int)i, "processor",
                                           json_index(place->pu), "core", json_index(place->core),
                                           "node", json_index(place->node)));
    }
    json_t *workers =
        json_pack("{s:s, s:s, s:i, s:o}", "strategy", w->spec, "bind", bind_name(w->bind),
                  "n_workers", (int)w->n_workers, "places", places);
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:s, s:o, s:s, s:o, s:o, s:o, "
        "s:o}",
        "version", drove_version(), "processor", drove__cpu_model(), "features",
        json_names(m->feature, m->n_features), "n_cores", (int)t->n_cores, "n_processors",
        (int)t->n_pus, "n_nodes", (int)t->n_nodes, "n_packages", (int)t->n_packages, "l1d_bytes",
        (json_int_t)t->l1d_bytes, "l2_bytes", (json_int_t)t->l2_bytes, "l3_bytes",
        (json_int_t)t->l3_bytes, "memory_bytes", (json_int_t)t->memory_bytes, "isa", m->kernels.isa,
        "isa_tiers", json_names(tiers, n_tiers), "gemm_source", m->kernels.gemm_source, "engines",
        engines, "devices", drove__info_json_devices(), "device_kinds", drove__info_json_kinds(),
        "workers", workers);
    if (object != NULL && m->speeds.n > 0) {
        drove__json_set(&object, "speed", drove__info_json_speeds(m->config, &m->speeds));
    }
    return drove__about_print_json(object, "info", stream);
}

drove_status drove_info(const drove_options *options, int as_json, int measure, FILE *stream)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(stream);
    DROVE_IN_C_LOCALE;
    machine_facts m;
    drove_config config;
    if (options != NULL) DROVE_TRY(drove__options_check_words(options));
    DROVE_TRY(drove__config_init(options, &config));
    drove_status status = gather(&config, measure != 0, &m);
    if (status == DROVE_OK && as_json) status = print_json(&m, stream);
    else if (status == DROVE_OK) print_text(&m, stream);
    drove__speeds_fini(&m.speeds);
    drove__plan_fini(&m.workers);
    free(m.place);
    drove__topo_destroy(m.topo);
    drove__config_fini(&config);
    if (status == DROVE_OK && (fflush(stream) != 0 || ferror(stream))) {
        status = drove__fail(DROVE_E_IO, "info: cannot be written");
    }
    return status;
}
