/* bench/simulate_cores.c - the loop of each core, one line at a time. */
#include "bench/simulate_cores.h"

#include "base/mem.h"
#include "base/rng.h"
#include "engine/linear/rounding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = DROVE_CACHES_LINE, INDEX_BYTES = 4 };
static const uint64_t NO_EXAMPLE = UINT64_MAX;
static const uint64_t DATA_LINES = UINT64_C(1) << 40; /* where each core's examples begin */

typedef struct core {
    uint64_t now;     /* its clock, cycles */
    uint64_t pending; /* the last line that it waits for is there */
    uint64_t timed;   /* its clock when the examples that count began */
    uint64_t example; /* in hand, or NO_EXAMPLE */
    uint64_t n_done;
    bool writes;   /* AXPY, not dot */
    size_t at;     /* line of the model; sparse: pair */
    double cycles; /* of arithmetic that are not yet on the clock: below 1 */
    /* learning */
    uint8_t *copy; /* [n_lines][LINE] */
    double dot;
    drovek_factor factor;
    drove_rounder rounder;
} core;

/* The data and the model to learn. */
typedef struct lesson {
    const drove_sim_lesson *opt;
    uint8_t *x;        /* [n_examples][row_lines][LINE] */
    int8_t *y;         /* [n_examples] -1, +1 */
    uint8_t *model;    /* [n_lines][LINE], and as much that kernels may read beyond */
    double data_scale; /* of a number */
    double model_scale;
} lesson;

typedef struct sim {
    const drove_sim_step *step;
    drove_caches_options opt;
    drove_caches *caches;
    core core[DROVE_CACHES_MOST_CORES];
    size_t n_lines, row_lines; /* of the model; of an example */
    size_t per_line;           /* numbers of the model */
    size_t n_pairs;            /* sparse: of an example */
    uint64_t n_examples;       /* each core's; learning: of the epoch */
    uint64_t n_taken;          /* learning */
    lesson *lesson;            /* NULL: throughput alone */
} sim;

uint64_t drove__sim_cores_lines(const drove_sim_step *step)
{
    return (step->n_features * drove__number_size(step->model) + LINE - 1) / LINE;
}

/* ---- accesses ---- */

static void touch(sim *s, unsigned who, uint64_t line, drove_access kind)
{
    core *me = &s->core[who];
    const drove_access_done done = drove__caches_access(s->caches, who, line, kind, me->now);
    if (done.begun > me->now) me->now = done.begun;
    if (kind == DROVE_ACCESS_READ && done.ready > me->pending) me->pending = done.ready;
    if (kind != DROVE_ACCESS_PREFETCH && s->step->in_order) me->now = done.ready;
    if (s->lesson == NULL || line >= s->n_lines || !done.came) return;
    if (kind == DROVE_ACCESS_WRITE && !s->step->owns_first) return; /* it writes what it has read */
    memcpy(me->copy + line * LINE, s->lesson->model + line * LINE, LINE);
}

/* The lines of the example that begin in its bytes [from, to): read, and others ahead of them. */
static void read_data(sim *s, unsigned who, size_t from, size_t to)
{
    /* Learning, all cores have the same examples. */
    const uint64_t begin = s->lesson != NULL ? DATA_LINES : DATA_LINES * (who + 1);
    const uint64_t first = begin + s->core[who].example * s->row_lines;
    for (size_t l = (from + LINE - 1) / LINE; l * LINE < to; l++) {
        if (s->step->ahead > 0) touch(s, who, first + l + s->step->ahead, DROVE_ACCESS_PREFETCH);
        touch(s, who, first + l, DROVE_ACCESS_READ);
    }
}

static void compute(const sim *s, core *me, size_t n_numbers)
{
    me->cycles += (double)n_numbers * s->step->ghz / s->step->gnps / 2.0;
    const double whole = floor(me->cycles);
    me->now += (uint64_t)whole;
    me->cycles -= whole;
}

/* ---- numbers ---- */

static const uint8_t *row_of(const sim *s, uint64_t example)
{
    return s->lesson->x + example * s->row_lines * LINE;
}

static double output(const sim *s, double dot)
{
    return dot * s->lesson->data_scale * s->lesson->model_scale;
}

static double mean_loss(const sim *s)
{
    const lesson *l = s->lesson;
    double sum = 0.0;
    for (size_t i = 0; i < l->opt->n_examples; i++) {
        const double dot =
            l->opt->kernels->linear.dot[s->step->data][s->step->model](row_of(s, i), l->model,
                                                                       s->step->n_features);
        const double margin = l->y[i] * output(s, dot);
        sum += margin > 0.0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
    }
    return sum / (double)l->opt->n_examples;
}

/* ---- the loop of a core ---- */

static void take_example(sim *s, core *me)
{
    me->writes = false;
    me->at = 0;
    me->dot = 0.0;
    me->example = NO_EXAMPLE;
    if (s->lesson != NULL) {
        if (s->n_taken < s->n_examples) me->example = s->n_taken++;
    } else if (me->n_done < s->n_examples) {
        me->example = me->n_done;
        if (me->n_done == s->n_examples / 4) me->timed = me->now;
    }
}

/* And writes it in the AXPY, at the same moment. */
static void read_model(sim *s, unsigned who, uint64_t line)
{
    const bool writes = s->core[who].writes;
    if (writes && s->step->owns_first) touch(s, who, line, DROVE_ACCESS_WRITE);
    touch(s, who, line, DROVE_ACCESS_READ);
    if (writes && !s->step->owns_first) touch(s, who, line, DROVE_ACCESS_WRITE);
}

/* One line of the model, and the numbers of the example that belong to it. */
static void dense_line(sim *s, unsigned who)
{
    core *me = &s->core[who];
    const size_t number = drove__number_size(s->step->data), from = me->at * s->per_line;
    const size_t n =
        s->step->n_features - from < s->per_line ? s->step->n_features - from : s->per_line;
    read_data(s, who, from * number, (from + n) * number);
    read_model(s, who, me->at);
    if (s->lesson != NULL) {
        const drovek_linear *k = &s->lesson->opt->kernels->linear;
        const drove_number d = s->step->data, m = s->step->model;
        const void *x = row_of(s, me->example) + me->at * s->per_line * drove__number_size(d);
        uint8_t *w = me->copy + me->at * LINE;
        if (me->writes)
            (void)k->axpy[d][m](w, &x, &me->factor, 1, n,
                                drove__rounder_next(&me->rounder, d, m, false, n));
        else me->dot += k->dot[d][m](x, w, n);
        /* A whole line, as the vector store of an AXPY is. */
        if (me->writes) memcpy(s->lesson->model + me->at * LINE, w, LINE);
    }
    compute(s, me, n);
}

static void advance(sim *s, unsigned who)
{
    core *me = &s->core[who];
    const bool is_sparse = s->step->density > 0.0;
    if (is_sparse) { /* a pair names the same line of the model in dot and AXPY */
        const size_t bytes = drove__number_size(s->step->data) + INDEX_BYTES;
        uint64_t word = (me->example * DROVE_CACHES_MOST_CORES + who) * s->n_pairs + me->at;
        read_data(s, who, me->at * bytes, (me->at + 1) * bytes);
        read_model(s, who, drove__splitmix64(&word) % s->step->n_features / s->per_line);
        compute(s, me, 1);
    } else dense_line(s, who);
    if (++me->at < (is_sparse ? s->n_pairs : s->n_lines)) return;
    if (me->pending > me->now) me->now = me->pending;
    if (me->writes) {
        me->n_done++;
        take_example(s, me);
        return;
    }
    if (s->lesson != NULL) {
        /* The factor of the AXPY, in numbers of the model for one of the data. */
        const lesson *l = s->lesson;
        const double y = l->y[me->example], margin = y * output(s, me->dot);
        const double slope = -y / (1.0 + exp(margin));
        const double eta = l->opt->eta / (double)s->step->n_features;
        const double alpha = -eta * slope * l->data_scale / l->model_scale;
        drove__factor_make(s->step->data, s->step->model, &alpha, 1, &me->rounder, &me->factor);
    }
    me->writes = true;
    me->at = 0;
}

/* Until no core has an example in hand. */
static void run(sim *s)
{
    for (unsigned w = 0; w < s->opt.n_cores; w++) take_example(s, &s->core[w]);
    for (;;) {
        unsigned first = s->opt.n_cores;
        for (unsigned w = 0; w < s->opt.n_cores; w++)
            if (s->core[w].example != NO_EXAMPLE &&
                (first == s->opt.n_cores || s->core[w].now < s->core[first].now))
                first = w;
        if (first == s->opt.n_cores) return;
        advance(s, first);
    }
}

/* ---- results ---- */

static void add_counts(const sim *s, drove_caches_counts *sum)
{
    *sum = (drove_caches_counts){0};
    for (unsigned w = 0; w < s->opt.n_cores; w++) {
        const drove_caches_counts n = drove__caches_counts(s->caches, w);
        sum->accesses += n.accesses;
        sum->l1 += n.l1;
        sum->l2 += n.l2;
        sum->l3 += n.l3;
        sum->memory += n.memory;
        sum->transfers += n.transfers;
        sum->taken += n.taken;
        sum->kept += n.kept;
        sum->old_reads += n.old_reads;
    }
}

/* Numbers of each core's examples that count, by its own time for them. */
static double rate_of(const sim *s)
{
    double sum = 0.0;
    for (unsigned w = 0; w < s->opt.n_cores; w++) {
        const core *me = &s->core[w];
        const uint64_t first = s->lesson != NULL ? 0 : s->n_examples / 4;
        const double n =
            (double)(me->n_done - first) *
            (s->step->density > 0.0 ? (double)s->n_pairs : (double)s->step->n_features);
        if (me->now > me->timed) sum += n / (double)(me->now - me->timed);
    }
    return sum * s->step->ghz;
}

/* ---- making ---- */

static drove_status begin(sim *s, const drove_caches_options *caches, const drove_sim_step *step)
{
    if (step->n_features < 1 || step->n_features > (size_t)1 << 32)
        return drove__fail(DROVE_E_ARG, "features: expected 1 to 2^32, found %zu",
                           step->n_features);
    if (!(step->density >= 0.0 && step->density <= 1.0))
        return drove__fail(DROVE_E_ARG, "density: expected 0 to 1, found %g", step->density);
    if (!(step->ghz > 0.0 && step->gnps > 0.0))
        return drove__fail(DROVE_E_ARG, "clock and rate: expected numbers above 0, found %g and %g",
                           step->ghz, step->gnps);

    const size_t number = drove__number_size(step->data);
    s->step = step;
    s->opt = *caches;
    s->n_lines = drove__sim_cores_lines(step);
    s->opt.n_model_lines = s->n_lines;
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): every number has a size */
    s->per_line = LINE / drove__number_size(step->model);
    s->n_pairs = (size_t)fmax(1.0, floor(step->density * (double)step->n_features));
    s->row_lines = step->density > 0.0 ? (s->n_pairs * (number + INDEX_BYTES) + LINE - 1) / LINE
                                       : (step->n_features * number + LINE - 1) / LINE;
    return drove__caches_create(&s->opt, &s->caches);
}

static void end(sim *s)
{
    for (unsigned w = 0; w < s->opt.n_cores; w++) {
        drove__free(s->core[w].copy);
        drove__rounder_fini(&s->core[w].rounder);
    }
    drove__caches_destroy(s->caches);
    free(s);
}

drove_status drove__sim_cores_rate(const drove_caches_options *caches, const drove_sim_step *step,
                                   size_t n_examples, drove_sim_rate *out)
{
    sim *s = calloc(1, sizeof *s);
    if (s == NULL) return drove__fail_nomem("a simulation", sizeof *s);
    s->n_examples = n_examples;
    drove_status status = begin(s, caches, step);
    if (status == DROVE_OK) {
        run(s);
        out->gnps = rate_of(s);
        add_counts(s, &out->sum);
    }
    end(s);
    return status;
}

/* ---- data to learn from ---- */

/* A component of the true model has this standard deviation: outputs of about +-3. */
static double spread_of(const drove_sim_step *step)
{
    return 3.0 * sqrt(3.0 / (double)step->n_features);
}

/* The whole range of a format of integers; floats are their own numbers. */
static double scale_of(drove_number number, double most)
{
    return number == DROVE_F32 ? 1.0 : most / (number == DROVE_I8 ? INT8_MAX : INT16_MAX);
}

static double put_number(drove_number number, void *to, size_t i, double value, double scale)
{
    if (number == DROVE_F32) return ((float *)to)[i] = (float)value;
    const double whole = nearbyint(value / scale);
    if (number == DROVE_I8) ((int8_t *)to)[i] = (int8_t)whole;
    else ((int16_t *)to)[i] = (int16_t)whole;
    return whole * scale;
}

static drove_status make_data(const sim *s, lesson *l)
{
    drove_rng rng;
    const size_t n = s->step->n_features;
    double *truth = drove__alloc(n, sizeof *truth);
    l->x = drove__alloc(l->opt->n_examples * s->row_lines + 1, LINE);
    l->y = drove__alloc(l->opt->n_examples, sizeof *l->y);
    l->model = drove__alloc(s->n_lines + 1, LINE);
    l->data_scale = scale_of(s->step->data, 1.0);
    l->model_scale = scale_of(s->step->model, 4.0 * spread_of(s->step));
    if (truth == NULL || l->x == NULL || l->y == NULL || l->model == NULL) {
        drove__free(truth);
        return drove__fail_nomem("examples to learn from",
                                 l->opt->n_examples * s->row_lines * LINE);
    }
    drove__rng_seed(&rng, l->opt->seed, DROVE_RNG_SYNTH, 0);
    for (size_t f = 0; f < n; f++) truth[f] = spread_of(s->step) * drove__rng_normal(&rng);

    /* As given, or x uniform in [-1, 1], y by the logistic model of footnote 9. */
    for (size_t i = 0; i < l->opt->n_examples; i++) {
        double z = 0.0;
        void *row = l->x + i * s->row_lines * LINE;
        if (l->opt->x != NULL) {
            for (size_t f = 0; f < n; f++)
                (void)put_number(s->step->data, row, f, (double)l->opt->x[i * n + f],
                                 l->data_scale);
            l->y[i] = l->opt->y[i];
            continue;
        }
        drove__rng_seed(&rng, l->opt->seed, DROVE_RNG_SYNTH, i + 1);
        for (size_t f = 0; f < n; f++)
            z += truth[f] * put_number(s->step->data, row, f, 2.0 * drove__rng_uniform(&rng) - 1.0,
                                       l->data_scale);
        l->y[i] = drove__rng_uniform(&rng) * (1.0 + exp(-z)) < 1.0 ? 1 : -1;
    }
    drove__free(truth);
    return DROVE_OK;
}

drove_status drove__sim_cores_learn(const drove_caches_options *caches, const drove_sim_step *step,
                                    const drove_sim_lesson *opt, double *loss, drove_sim_rate *out)
{
    if (step->density > 0.0)
        return drove__fail(DROVE_E_ARG, "learning: expected dense data, found density %g",
                           step->density);
    if (opt->n_examples < 1)
        return drove__fail(DROVE_E_ARG, "examples: expected 1 or more, found 0");
    lesson l = {.opt = opt};
    sim *s = calloc(1, sizeof *s);
    if (s == NULL) return drove__fail_nomem("a simulation", sizeof *s);
    drove_rounding how;
    drove_status status;
    if ((status = begin(s, caches, step)) != DROVE_OK) goto fail;
    if ((status = make_data(s, &l)) != DROVE_OK) goto fail;
    if ((status = drove__rounding_parse("xorshift", &how)) != DROVE_OK) goto fail;
    for (unsigned w = 0; w < s->opt.n_cores; w++) {
        core *me = &s->core[w];
        me->copy = drove__alloc(s->n_lines + 1, LINE);
        if (me->copy == NULL) {
            status = drove__fail_nomem("a core's lines", s->n_lines * LINE);
            goto fail;
        }
        if ((status = drove__rounder_init(&me->rounder, &how, LINE)) != DROVE_OK) goto fail;
        drove__rounder_seed(&me->rounder, opt->seed, w);
    }

    s->lesson = &l;
    s->n_examples = opt->n_examples;
    loss[0] = mean_loss(s);
    for (unsigned e = 1; e <= opt->n_epochs; e++) {
        s->n_taken = 0;
        run(s);
        loss[e] = mean_loss(s);
    }
    out->gnps = rate_of(s);
    add_counts(s, &out->sum);
fail:
    drove__free(l.x);
    drove__free(l.y);
    drove__free(l.model);
    end(s);
    return status;
}
