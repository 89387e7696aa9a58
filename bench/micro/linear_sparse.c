/* bench/micro/linear_sparse.c - sparse dot and AXPY beside the machine's random-access limit.
 *
 * usage: bench_linear_sparse [--isa TIER] [--signature TEXT] [--features LOG2,...] [--density PART]
 *                            [--pairs N] [--rounds N] [--rounding xorshift|shared] [--compiled]
 *                            [--json]
 *
 * Per number of features n = 2^LOG2 (default 12,14 .. 24): rows of density 3 % with places drawn
 * uniformly, N stored pairs in all (default 2 Mi, at least two rows), one dot and one AXPY a row.
 * --signature: only those that contain the text; "all": the 27 combinations, not just those of the
 * paper's Table 2 and the mixed ones in use.  --isa: only that tier.
 *
 * Printed per signature and tier: nanoseconds per non-zero of the dot alone and of the pair, GNPS
 * (10^9 non-zeros a second with dot and AXPY carried out; bridges are work, not numbers), the
 * paper's Table 2, and the limit: the time in which this machine reads, and then reads and writes
 * back, the same places of w, given as 32-bit places, without arithmetic; the best of plain loads
 * and stores and of gathers and scatters.  Each figure is that of the fastest group of rows (32,768
 * non-zeros or one row) in N rounds (default 5); a round walks over all tiers and the limit.  One
 * thread, pinned.  --compiled: also plain loops as a compiler vectorises them for each tier, to
 * the nearest number (linear_loops.h).  --json: one object a line instead of the table.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/topo.h"
#include "kernel/kernel.h"
#include "linear_compiled.h"
#include "linear_sparse_limit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1, MAX_TIERS = 12, MAX_SIZES = 16, MODEL_PADDING = 64 };

typedef struct signature {
    const char *name;
    drove_number data;
    int index; /* 0, 1, 2: 8, 16, 32 bits */
    drove_number model;
    double table_2; /* GNPS on one thread of a Xeon E7-8890 v3; 0: not in the table */
    bool extra;     /* only with --signature all */
} signature;

#define OTHER(d, di, i, ii, m, mi, extra)                                                          \
    {                                                                                              \
        "D" #d "i" #i "M" #m, di, ii, mi, 0.0, extra                                               \
    }
static const signature signatures[] = {
    {"D32fi32M8", DROVE_F32, 2, DROVE_I8, 0.103, false},
    {"D32fi32M16", DROVE_F32, 2, DROVE_I16, 0.080, false},
    {"D32fi32M32f", DROVE_F32, 2, DROVE_F32, 0.101, false},
    {"D8i8M32f", DROVE_I8, 0, DROVE_F32, 0.089, false},
    {"D16i16M32f", DROVE_I16, 1, DROVE_F32, 0.089, false},
    {"D16i16M16", DROVE_I16, 1, DROVE_I16, 0.106, false},
    {"D8i8M16", DROVE_I8, 0, DROVE_I16, 0.105, false},
    {"D16i16M8", DROVE_I16, 1, DROVE_I8, 0.172, false},
    {"D8i8M8", DROVE_I8, 0, DROVE_I8, 0.166, false},
    OTHER(8, DROVE_I8, 16, 1, 8, DROVE_I8, false),
    OTHER(8, DROVE_I8, 32, 2, 8, DROVE_I8, false),
    OTHER(8, DROVE_I8, 16, 1, 16, DROVE_I16, false),
    OTHER(16, DROVE_I16, 32, 2, 16, DROVE_I16, false),
    OTHER(32f, DROVE_F32, 16, 1, 32f, DROVE_F32, false),
    OTHER(8, DROVE_I8, 32, 2, 16, DROVE_I16, true),
    OTHER(8, DROVE_I8, 16, 1, 32f, DROVE_F32, true),
    OTHER(8, DROVE_I8, 32, 2, 32f, DROVE_F32, true),
    OTHER(16, DROVE_I16, 8, 0, 8, DROVE_I8, true),
    OTHER(16, DROVE_I16, 32, 2, 8, DROVE_I8, true),
    OTHER(16, DROVE_I16, 8, 0, 16, DROVE_I16, true),
    OTHER(16, DROVE_I16, 8, 0, 32f, DROVE_F32, true),
    OTHER(16, DROVE_I16, 32, 2, 32f, DROVE_F32, true),
    OTHER(32f, DROVE_F32, 8, 0, 8, DROVE_I8, true),
    OTHER(32f, DROVE_F32, 16, 1, 8, DROVE_I8, true),
    OTHER(32f, DROVE_F32, 8, 0, 16, DROVE_I16, true),
    OTHER(32f, DROVE_F32, 16, 1, 16, DROVE_I16, true),
    OTHER(32f, DROVE_F32, 8, 0, 32f, DROVE_F32, true),
};

static struct options {
    const char *isa, *signature;
    unsigned log2_features[MAX_SIZES];
    size_t n_sizes;
    double density;
    size_t n_pairs;
    int n_rounds;
    bool shared, json, compiled;
} opt = {.log2_features = {12, 14, 16, 18, 20, 22, 24},
         .n_sizes = 7,
         .density = 0.03,
         .n_pairs = (size_t)2 << 20,
         .n_rounds = 5};

static drovek_table tiers[MAX_TIERS];
static size_t n_tiers;

/* One data set: places, and per index format the numbers that stand for them, bridges included. */
typedef struct rows {
    size_t n_features, n_rows, n_nonzero;
    uint32_t *place;   /* [n_nonzero] */
    size_t *start;     /* [n_rows + 1] into place */
    void *index[3];    /* [n_stored] */
    size_t *begins[3]; /* [n_rows + 1] into index */
    void *value[DROVE_NUMBERS];
} rows;

static void *must(void *memory)
{
    if (memory != NULL) return memory;
    fputs("bench_linear_sparse: out of memory\n", stderr);
    exit(1);
}

/* ---- data ---- */

/* Distance to the next place, when each is taken with probability `density`. */
static uint64_t draw_gap(drove_rng *rng, double density)
{
    return 1 + (uint64_t)(log(1.0 - drove__rng_uniform(rng)) / log(1.0 - density));
}

static void draw_places(rows *r, drove_rng *rng)
{
    double per_row = opt.density * (double)r->n_features;
    r->n_rows = (size_t)((double)opt.n_pairs / per_row);
    if (r->n_rows < 2) r->n_rows = 2;
    size_t room = (size_t)((double)r->n_rows * (per_row + 8 * sqrt(per_row) + 8));
    r->place = must(drove__alloc(room, sizeof *r->place));
    r->start = must(drove__alloc(r->n_rows + 1, sizeof *r->start));
    size_t n = 0;
    for (size_t i = 0; i < r->n_rows; i++) {
        r->start[i] = n;
        for (uint64_t p = draw_gap(rng, opt.density) - 1; p < r->n_features && n < room;
             p += draw_gap(rng, opt.density))
            r->place[n++] = (uint32_t)p;
    }
    r->start[r->n_rows] = r->n_nonzero = n;
}

/* Writes number k of an index array. */
static void put_index(void *index, int format, size_t k, uint32_t number)
{
    if (format == 0) ((uint8_t *)index)[k] = (uint8_t)number;
    else if (format == 1) ((uint16_t *)index)[k] = (uint16_t)number;
    else ((uint32_t *)index)[k] = number;
}

/* The index numbers of one format, and which of them are bridges (is_bridge[n_stored], may be
 * NULL).  Returns how many there are; index NULL: only that. */
static size_t encode(const rows *r, int format, void *index, size_t *begins, uint8_t *is_bridge)
{
    uint32_t most = format == 0 ? UINT8_MAX : format == 1 ? UINT16_MAX : UINT32_MAX;
    size_t k = 0;
    for (size_t i = 0; i < r->n_rows; i++) {
        uint32_t at = 0;
        if (index != NULL) begins[i] = k;
        for (size_t j = r->start[i]; j < r->start[i + 1]; j++) {
            for (; format < 2 && r->place[j] - at > most; at += most, k++) {
                if (index == NULL) continue;
                put_index(index, format, k, most);
                is_bridge[k] = 1;
            }
            if (index != NULL)
                put_index(index, format, k, format < 2 ? r->place[j] - at : r->place[j]);
            at = r->place[j], k++;
        }
    }
    if (index != NULL) begins[r->n_rows] = k;
    return k;
}

/* values[n] of a format, never 0 */
static void *draw_values(drove_number number, size_t n, drove_rng *rng)
{
    int32_t most = number == DROVE_I8 ? INT8_MAX : INT16_MAX;
    void *value = must(drove__alloc(n, drove__number_size(number)));
    for (size_t k = 0; k < n; k++) {
        int32_t v = 1 + (int32_t)drove__rng_below(rng, (uint64_t)most);
        if (k & 1) v = -v;
        if (number == DROVE_I8) ((int8_t *)value)[k] = (int8_t)v;
        else if (number == DROVE_I16) ((int16_t *)value)[k] = (int16_t)v;
        else ((float *)value)[k] = (float)v / (float)most;
    }
    return value;
}

static void zero_value(void *value, drove_number number, size_t k)
{
    memset((char *)value + k * drove__number_size(number), 0, drove__number_size(number));
}

static void rows_init(rows *r, size_t n_features)
{
    drove_rng rng;
    drove__rng_seed(&rng, SEED, DROVE_RNG_TEST, 0);
    *r = (rows){.n_features = n_features};
    draw_places(r, &rng);
}

/* The arrays of one signature, made anew for each, since bridges differ. */
static void rows_encode(rows *r, const signature *s)
{
    drove_rng rng;
    size_t n = encode(r, s->index, NULL, NULL, NULL);
    uint8_t *is_bridge = must(drove__alloc(n, 1));
    drove__rng_seed(&rng, SEED, DROVE_RNG_TEST, 1);
    r->index[s->index] = must(drove__alloc(n, (size_t)1 << s->index));
    r->begins[s->index] = must(drove__alloc(r->n_rows + 1, sizeof(size_t)));
    r->value[s->data] = draw_values(s->data, n, &rng);
    encode(r, s->index, r->index[s->index], r->begins[s->index], is_bridge);
    for (size_t k = 0; k < n; k++) {
        if (is_bridge[k]) zero_value(r->value[s->data], s->data, k);
    }
    drove__free(is_bridge);
}

static void rows_forget(rows *r, const signature *s)
{
    drove__free(r->index[s->index]);
    drove__free(r->begins[s->index]);
    drove__free(r->value[s->data]);
}

/* ---- measuring ---- */

typedef struct timing {
    double dot_ns, pair_ns; /* per non-zero, fastest so far */
} timing;

typedef struct workload {
    const rows *r;
    const signature *s;
    void *w;
    drovek_bits bits;
} workload;

static drovek_pairs row_of(const workload *l, size_t i)
{
    size_t begin = l->r->begins[l->s->index][i], end = l->r->begins[l->s->index][i + 1];
    return (drovek_pairs){
        .index = (const char *)l->r->index[l->s->index] + (begin << l->s->index),
        .value = (const char *)l->r->value[l->s->data] + begin * drove__number_size(l->s->data),
        .n_stored = end - begin,
    };
}

/* Rows [begin, end) that are timed together: long enough for the clock, short enough to find
 * moments in which nothing else runs. */
typedef struct group {
    size_t begin, end, n_nonzero;
    uint64_t started;
} group;

enum { GROUP_NONZEROS = 1 << 15 };

/* The next group after *g, its clock started; false: there is none. */
static bool next_group(const rows *r, group *g)
{
    g->begin = g->end;
    while (g->end < r->n_rows && r->start[g->end] - r->start[g->begin] < GROUP_NONZEROS) g->end++;
    g->n_nonzero = r->start[g->end] - r->start[g->begin];
    g->started = drove__now_ns();
    return g->n_nonzero > 0;
}

static void end_group(const group *g, double *best)
{
    double ns = (double)(drove__now_ns() - g->started) / (double)g->n_nonzero;
    if (*best == 0.0 || ns < *best) *best = ns;
}

static volatile double sink;

static void measure(const drovek_table *t, workload *l, timing *best)
{
    drovek_spdot_fn *dot = t->linear.spdot[l->s->data][l->s->index][l->s->model];
    drovek_spaxpy_fn *axpy = t->linear.spaxpy[l->s->data][l->s->index][l->s->model];
    double sum = 0.0;
    for (group g = {0}; next_group(l->r, &g); end_group(&g, &best->dot_ns)) {
        for (size_t i = g.begin; i < g.end; i++) {
            drovek_pairs x = row_of(l, i);
            sum += dot(&x, l->w);
        }
    }
    for (group g = {0}; next_group(l->r, &g); end_group(&g, &best->pair_ns)) {
        for (size_t i = g.begin; i < g.end; i++) {
            drovek_pairs x = row_of(l, i);
            double d = dot(&x, l->w);
            drovek_factor factor = {.a = d > 0.0 ? -3 : 3, .shift = 8, .f = d > 0.0 ? -0.5f : 0.5f};
            sum += (double)axpy(l->w, &x, &factor, &l->bits);
        }
    }
    sink = sum;
}

/* One way to read and one to write; write_way LIMIT_WAYS: reading only. */
static void measure_limit(const rows *r, const signature *s, void *w, int way, int write_way,
                          double *best)
{
    for (group g = {0}; next_group(r, &g); end_group(&g, best)) {
        for (size_t i = g.begin; i < g.end; i++) {
            const uint32_t *place = r->place + r->start[i];
            size_t n = r->start[i + 1] - r->start[i];
            limit_read(way, s->model, w, place, n);
            if (write_way < LIMIT_WAYS) limit_rewrite(write_way, s->model, w, place, n);
        }
    }
}

static void measure_limits(const rows *r, const signature *s, void *w, timing *best)
{
    for (int way = 0; way < LIMIT_WAYS; way++) {
        if (!limit_runs(way)) continue;
        measure_limit(r, s, w, way, LIMIT_WAYS, &best->dot_ns);
        for (int write_way = 0; write_way < LIMIT_WAYS; write_way++) {
            if (limit_writes(write_way, s->model))
                measure_limit(r, s, w, way, write_way, &best->pair_ns);
        }
    }
}

/* ---- output ---- */

static void report(const rows *r, const signature *s, const char *isa, const timing *t,
                   const timing *limit)
{
    if (opt.json) {
        printf("{\"signature\":\"%s\",\"isa\":\"%s\",\"features\":%zu,\"density\":%g,", s->name,
               isa, r->n_features, opt.density);
        printf("\"dot_ns\":%.4f,\"pair_ns\":%.4f,\"gnps\":%.4f,", t->dot_ns, t->pair_ns,
               1.0 / t->pair_ns);
        printf("\"limit_dot_ns\":%.4f,\"limit_pair_ns\":%.4f,\"table_2\":%.3f,", limit->dot_ns,
               limit->pair_ns, s->table_2);
        printf("\"cpu\":\"%s\",\"compiler\":\"%s\"}\n", drove__cpu_model(), __VERSION__);
        return;
    }
    printf("%-12s %-7s %6.3f %7.3f %7.3f   %6.3f %7.3f %7.2f  ", s->name, isa, t->dot_ns,
           t->pair_ns, 1.0 / t->pair_ns, limit->dot_ns, limit->pair_ns,
           t->pair_ns / limit->pair_ns);
    if (s->table_2 > 0.0) printf(" %7.3f %6.1f\n", s->table_2, 1.0 / t->pair_ns / s->table_2);
    else puts("");
}

static bool is_wanted(const signature *s)
{
    if (opt.signature == NULL) return !s->extra;
    return strcmp(opt.signature, "all") == 0 || strstr(s->name, opt.signature) != NULL;
}

static void run_signature(rows *r, const signature *s)
{
    _Alignas(64) uint8_t block[DROVEK_BLOCK_BYTES];
    timing best[MAX_TIERS] = {{0}}, limit = {0};
    workload l = {.r = r, .s = s, .bits = {.kind = DROVEK_BITS_XORSHIFT}};
    size_t size_bytes = r->n_features * drove__number_size(s->model) + MODEL_PADDING;

    for (int i = 0; i < DROVEK_BLOCK_BYTES; i++) block[i] = (uint8_t)(37 * i + 11);
    for (unsigned i = 0; i < 8; i++) l.bits.state[i] = 0x9e3779b97f4a7c15u * (i + 1);
    if (opt.shared) l.bits = (drovek_bits){.kind = DROVEK_BITS_FIXED, .block = block};
    rows_encode(r, s);
    l.w = must(drove__alloc(size_bytes, 1));
    for (int round = 0; round < opt.n_rounds; round++) {
        for (size_t t = 0; t < n_tiers; t++) measure(&tiers[t], &l, &best[t]);
        measure_limits(r, s, l.w, &limit);
    }
    for (size_t t = 0; t < n_tiers; t++) report(r, s, tiers[t].isa, &best[t], &limit);
    drove__free(l.w);
    rows_forget(r, s);
}

static void run_size(unsigned log2_features)
{
    rows r;
    rows_init(&r, (size_t)1 << log2_features);
    if (!opt.json) {
        printf("\nn = 2^%u, %zu rows of %.0f non-zeros; ns per non-zero\n", log2_features, r.n_rows,
               (double)r.n_nonzero / (double)r.n_rows);
        puts("signature    isa        dot    pair    GNPS   limit:r     r+w   times   Table 2  "
             "ratio");
    }
    for (size_t i = 0; i < DROVE_COUNT(signatures); i++) {
        if (is_wanted(&signatures[i])) run_signature(&r, &signatures[i]);
    }
    fflush(stdout);
    drove__free(r.place);
    drove__free(r.start);
}

/* ---- start ---- */

static void read_sizes(const char *text)
{
    opt.n_sizes = 0;
    while (opt.n_sizes < MAX_SIZES && *text != '\0') {
        char *end;
        opt.log2_features[opt.n_sizes++] = (unsigned)strtoul(text, &end, 10);
        if (end == text) break;
        text = *end == ',' ? end + 1 : end;
    }
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--json") == 0) {
            opt.json = true;
            continue;
        }
        if (strcmp(argv[i], "--compiled") == 0) {
            opt.compiled = true;
            continue;
        }
        if (strcmp(argv[i], "--isa") == 0) opt.isa = value;
        else if (strcmp(argv[i], "--signature") == 0) opt.signature = value;
        else if (strcmp(argv[i], "--features") == 0) read_sizes(value);
        else if (strcmp(argv[i], "--density") == 0) opt.density = atof(value);
        else if (strcmp(argv[i], "--pairs") == 0) opt.n_pairs = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--rounds") == 0) opt.n_rounds = atoi(value);
        else if (strcmp(argv[i], "--rounding") == 0) opt.shared = strcmp(value, "shared") == 0;
        else {
            fprintf(stderr, "bench_linear_sparse: unknown option '%s'\n", argv[i]);
            exit(2);
        }
        i++;
    }
}

/* What the compiler makes of plain loops, as if it were further tiers. */
static void add_compiled(const char *isa)
{
    for (const linear_compiled *c = all_linear_compiled; c->name != NULL; c++) {
        if (strncmp(c->name, isa, strlen(isa)) != 0 || c->name[strlen(isa)] != ' ') continue;
        if (n_tiers == MAX_TIERS) return;
        tiers[n_tiers++] = (drovek_table){.isa = c->name, .linear = *c->table};
    }
}

int main(int argc, char **argv)
{
    drove_topo *topo;
    drove_place place;
    read_options(argc, argv);
    for (const char *const *isa = drovek_tiers(); *isa != NULL && n_tiers < MAX_TIERS; isa++) {
        if (opt.isa != NULL && strcmp(opt.isa, *isa) != 0) continue;
        if (drovek_select(&tiers[n_tiers], drove__cpu_features(), *isa) != DROVE_OK) continue;
        n_tiers++;
        if (opt.compiled) add_compiled(*isa);
    }
    if (n_tiers == 0 || drove__topo_create(NULL, &topo) != DROVE_OK) {
        fprintf(stderr, "bench_linear_sparse: %s\n", drove_error_text());
        return 2;
    }
    drove__topo_place(topo, DROVE_BIND_COMPACT, 1, &place);
    if (drove__topo_bind_self(topo, &place) != DROVE_OK) return 2;
    for (size_t i = 0; i < opt.n_sizes; i++) run_size(opt.log2_features[i]);
    drove__topo_destroy(topo);
    return 0;
}
