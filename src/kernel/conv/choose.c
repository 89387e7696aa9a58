/* kernel/conv/choose.c - makes a convolution, and measures which way to compute it is fastest here.
 *
 * Results are kept in the process, so that all its workers choose the same, and in a file
 * (file.h), so that later runs do.  A measurement takes enough images for some milliseconds of
 * this thread's own time, runs each candidate's passes in turn, and takes the fastest of several
 * rounds.
 *
 * Threads: any.  One measures at a time, so that none disturbs another's times; meanwhile others
 * find what is known, and the process may fork.
 */
#include "kernel/conv/file.h"
#include "kernel/conv/ops.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/fork.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_PASSES = 3, LEAST_ROUNDS = 3, MOST_ROUNDS = 12, MOST_CANDIDATES = 8 };
static const double IMAGES_OPERATIONS = 1e9; /* per pass over the measured images */
static const uint64_t ROUNDS_NS = 60000000;  /* stop after this time and LEAST_ROUNDS */
static const double TIE = 0.98;              /* the library must be this much faster than our own */

/* choose_lock protects: known.  Held for a look alone; fork waits for it. */
static pthread_mutex_t choose_lock = PTHREAD_MUTEX_INITIALIZER;
static drovek_conv_record *known; /* a list; lives until the process ends */
/* Held while a thread measures and adds to the file; taken before choose_lock.  It protects nothing
 * of the process: a child of fork has it free, and measures for itself what is not known. */
static pthread_mutex_t measure_lock = PTHREAD_MUTEX_INITIALIZER;
static drove_fork_guard choose_guard, measure_guard;

__attribute__((constructor)) static void guard_locks(void)
{
    drove__fork_guard_add(&choose_guard, &choose_lock, DROVE_FORK_INNER);
    drove__fork_guard_add(&measure_guard, &measure_lock, DROVE_FORK_FRESH);
}

/* ---- candidates ---- */

static void add_candidate(drovek_conv_record *r, const char *way, drovek_format in,
                          drovek_format out)
{
    drovek_conv_choice *c = &r->choice[r->n_choices++];
    *c = (drovek_conv_choice){.in = in, .out = out};
    snprintf(c->way, sizeof c->way, "%s", way);
}

/* The library for all pairs of formats that the shape allows; our own for plain images. */
static void list_candidates(const drovek_conv_options *opt, drovek_conv_record *r)
{
    const drovek_conv_shape *s = &opt->shape;
    const drovek_format plain = opt->in == DROVEK_NCHW ? DROVEK_NCHW : DROVEK_NHWC;
    const bool is_ref = strcmp(opt->kernels->isa, "ref") == 0;
    r->n_choices = 0;
    if (opt->kernels->factors == DROVEK_FACTORS_BF16) { /* the others multiply singles */
        add_candidate(r, "gemm", plain, DROVEK_NHWC);
        return;
    }
    if (opt->kernels->planes != NULL) {
        add_candidate(r, "planes", plain, DROVEK_NHWC);
        return;
    }
    if (is_ref) {
        add_candidate(r, "ref", plain, DROVEK_NHWC);
        return;
    }
    if (s->h * s->w * s->window.kh * s->window.kw == 1 && plain == DROVEK_NHWC) {
        /* groups of a vector's numbers: their products have no rival worth a measurement */
        add_candidate(r, drovek_conv_is_depthwise(s) ? "depthwise" : "gemm", plain, plain);
        return;
    }
    const bool has_library = drovek_conv_has_library(opt->kernels);
    const bool is_wide = strstr(opt->kernels->gemm_source, "avx512") != NULL;
    const drovek_format blocks = is_wide ? DROVEK_NCHW16 : DROVEK_NCHW8;
    const size_t block = drovek_block(blocks, s->c);
    if (plain == DROVEK_NHWC &&
        drovek_conv_is_depthwise(s)) { /* products of one channel are slow */
        add_candidate(r, "depthwise", plain, plain);
        if (!has_library) return;
        add_candidate(r, "onednn", plain, plain);
        if (s->c % block != 0) return;
        add_candidate(r, "depthwise", blocks, blocks);
        add_candidate(r, "onednn", blocks, blocks);
        return;
    }
    if (!has_library) {
        const bool has_few = drovek_conv_has_few_channels(s);
        if (has_few) add_candidate(r, "windows", plain, DROVEK_NHWC);
        if (!has_few || opt->kernels->factors != DROVEK_FACTORS_F32)
            add_candidate(r, "gemm", plain, DROVEK_NHWC);
        return;
    }
    add_candidate(r, "gemm", plain, DROVEK_NHWC);
    if (drovek_conv_has_few_channels(s)) add_candidate(r, "windows", plain, DROVEK_NHWC);
    if (plain == DROVEK_NHWC && drovek_conv_has_few_taps(s))
        add_candidate(r, "taps", plain, DROVEK_NHWC);
    add_candidate(r, "onednn", plain, DROVEK_NHWC);
    if (s->o % block == 0) add_candidate(r, "onednn", plain, blocks);
    if (plain == DROVEK_NCHW || s->c % block != 0) return;
    add_candidate(r, "onednn", blocks, DROVEK_NHWC);
    if (s->o % block == 0) add_candidate(r, "onednn", blocks, blocks);
}

/* ---- measuring ---- */

typedef struct contest {
    drovek_conv *conv[MOST_CANDIDATES]; /* NULL: cannot compute this */
    double best_ns[MOST_CANDIDATES][N_PASSES];
    size_t n_rows;
    float *x, *w, *b, *y, *dx, *dy, *dw;
} contest;

static size_t measured_rows(const drovek_conv_options *opt)
{
    const drovek_conv_shape *s = &opt->shape;
    double n =
        IMAGES_OPERATIONS / (2.0 * (double)(s->oh * s->ow) * (double)drovek_conv_n_weights(s));
    return n < 1.0 ? 1 : n > (double)opt->rows ? opt->rows : (size_t)n;
}

/* Values like those of training: small, of both signs, none denormal. */
static float *values(size_t n)
{
    float *x = drove__alloc(n, sizeof *x);
    for (size_t i = 0; x != NULL && i < n; i++) x[i] = 0.1f * (float)((int)(i % 17) - 8) + 0.01f;
    return x;
}

static drove_status allocate(const drovek_conv_options *opt, contest *t)
{
    const drovek_conv_shape *s = &opt->shape;
    size_t n_in = t->n_rows * s->c * s->h * s->w, n_out = t->n_rows * s->o * s->oh * s->ow;
    t->x = values(n_in);
    t->dx = values(n_in);
    t->y = values(n_out);
    t->dy = values(n_out);
    t->w = values(drovek_conv_n_weights(s));
    t->dw = values(drovek_conv_n_weights(s));
    t->b = values(s->o);
    bool is_there = t->x != NULL && t->dx != NULL && t->y != NULL && t->dy != NULL &&
                    t->w != NULL && t->dw != NULL && t->b != NULL;
    return is_there
               ? DROVE_OK
               : drove__fail_nomem("measuring a convolution", 2 * (n_in + n_out) * sizeof(float));
}

static void end_contest(contest *t)
{
    float *all[] = {t->x, t->dx, t->y, t->dy, t->w, t->dw, t->b};
    for (size_t i = 0; i < MOST_CANDIDATES; i++) drovek_conv_destroy(t->conv[i]);
    for (size_t i = 0; i < DROVE_COUNT(all); i++) drove__free(all[i]);
}

static drove_status begin_contest(const drovek_conv_options *opt, const drovek_conv_record *r,
                                  contest *t)
{
    drovek_conv_options one = *opt;
    one.rows = one.max_rows = t->n_rows;
    for (size_t i = 0; i < r->n_choices; i++) {
        const drovek_conv_ops *way = drovek_conv_find_way(r->choice[i].way);
        one.in = r->choice[i].in;
        one.out = r->choice[i].out;
        drove_status status = drovek_conv_check(&one);
        if (status == DROVE_OK) status = drovek_conv_create_by(&one, way, &t->conv[i]);
        if (status != DROVE_OK && status != DROVE_E_UNSUPPORTED) return status;
        for (size_t pass = 0; pass < N_PASSES; pass++) t->best_ns[i][pass] = 1e18;
    }
    return allocate(opt, t);
}

static void run_pass(const drovek_conv_options *opt, contest *t, size_t i, size_t pass)
{
    drovek_conv *conv = t->conv[i];
    uint64_t start = drove__thread_ns();
    if (pass == 0) drovek_conv_forward(conv, t->x, t->w, t->b, t->y, t->n_rows);
    if (pass == 1)
        drovek_conv_data(conv, t->dy, t->w, t->dx, t->n_rows, opt->passes & DROVEK_CONV_ADDS);
    if (pass == 2) drovek_conv_weights(conv, t->x, t->dy, t->dw, t->n_rows);
    double ns = (double)(drove__thread_ns() - start);
    if (ns < t->best_ns[i][pass]) t->best_ns[i][pass] = ns;
}

static void run_contest(const drovek_conv_options *opt, const drovek_conv_record *r, contest *t)
{
    uint64_t start = drove__thread_ns();
    for (size_t round = 0; round < MOST_ROUNDS; round++) {
        if (round >= LEAST_ROUNDS && drove__thread_ns() - start > ROUNDS_NS) break;
        for (size_t i = 0; i < r->n_choices; i++) {
            for (size_t pass = 0; pass < N_PASSES; pass++) {
                if (t->conv[i] != NULL && (opt->passes & 1u << pass)) run_pass(opt, t, i, pass);
            }
        }
    }
}

/* Seconds per image; removes candidates that cannot compute this. */
static void take_times(const drovek_conv_options *opt, const contest *t, drovek_conv_record *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_choices; i++) {
        double ns = 0.0;
        if (t->conv[i] == NULL) continue;
        for (size_t pass = 0; pass < N_PASSES; pass++)
            if (opt->passes & 1u << pass) ns += t->best_ns[i][pass];
        r->choice[n] = r->choice[i];
        r->choice[n++].step_s = 1e-9 * ns / (double)t->n_rows;
    }
    r->n_choices = n;
}

static double rank_of(const drovek_conv_choice *c)
{
    return strcmp(c->way, "onednn") == 0 ? c->step_s : TIE * c->step_s;
}

static int compare(const void *a, const void *b)
{
    double x = rank_of(a), y = rank_of(b);
    return x < y ? -1 : x > y;
}

/* Keeps the fastest way for each pair of formats, fastest pair first. */
static void rank_choices(drovek_conv_record *r)
{
    size_t n = 0;
    qsort(r->choice, r->n_choices, sizeof r->choice[0], compare);
    for (size_t i = 0; i < r->n_choices; i++) {
        bool is_new = true;
        for (size_t k = 0; k < n; k++) {
            is_new &= r->choice[k].in != r->choice[i].in || r->choice[k].out != r->choice[i].out;
        }
        if (is_new) r->choice[n++] = r->choice[i];
    }
    r->n_choices = n;
}

static drove_status measure(const drovek_conv_options *opt, drovek_conv_record *r)
{
    contest t = {.n_rows = measured_rows(opt)};
    list_candidates(opt, r);
    drove_status status = begin_contest(opt, r, &t);
    if (status == DROVE_OK) {
        run_contest(opt, r, &t);
        take_times(opt, &t, r);
        rank_choices(r);
    }
    end_contest(&t);
    return status;
}

/* ---- stored measurements ---- */

static void name_case(const drovek_conv_options *opt, char key[DROVEK_CONV_KEY])
{
    const drovek_conv_shape *s = &opt->shape;
    const drovek_window *w = &s->window;
    snprintf(key, DROVEK_CONV_KEY,
             "%s; %s; %s %d; %zu %zu %zu; %zu %zu %zu; %zu; %zu %zu %zu %zu %zu %zu %zu %zu; %zu; "
             "%u; %s",
             drove__cpu_model(), opt->kernels->isa, opt->kernels->gemm_source,
             (int)opt->kernels->factors, s->c, s->h, s->w, s->o, s->oh, s->ow, s->groups, w->kh,
             w->kw, w->sh, w->sw, w->ph, w->pw, w->dh, w->dw, measured_rows(opt), opt->passes,
             opt->in == DROVEK_NCHW ? "input" : "inner");
}

/* Accepts a record from the file only if every choice could have been measured here. */
static bool is_possible(const drovek_conv_options *opt, const drovek_conv_record *r)
{
    drovek_conv_record all;
    list_candidates(opt, &all);
    for (size_t i = 0; i < r->n_choices; i++) {
        const drovek_conv_choice *c = &r->choice[i];
        size_t k = 0;
        while (k < all.n_choices && (all.choice[k].in != c->in || all.choice[k].out != c->out ||
                                     strcmp(all.choice[k].way, c->way) != 0))
            k++;
        if (k == all.n_choices || drovek_conv_find_way(c->way) == NULL) return false;
    }
    return r->n_choices > 0;
}

/* NULL: not known yet.  A record is constant once it is known. */
static const drovek_conv_record *look_up(const char *key)
{
    pthread_mutex_lock(&choose_lock);
    const drovek_conv_record *r = known;
    while (r != NULL && strcmp(r->key, key) != 0) r = r->next;
    pthread_mutex_unlock(&choose_lock);
    return r;
}

static void make_known(drovek_conv_record *r)
{
    pthread_mutex_lock(&choose_lock);
    r->next = known;
    known = r;
    pthread_mutex_unlock(&choose_lock);
}

/* Reads or measures the record; under measure_lock. */
static drove_status make_record(const drovek_conv_options *opt, const char *key,
                                const drovek_conv_record **out)
{
    *out = look_up(key); /* another thread may have been first */
    if (*out != NULL) return DROVE_OK;
    drovek_conv_record *r = drove__alloc(1, sizeof *r);
    if (r == NULL) return drove__fail_nomem("convolution", sizeof *r);
    memcpy(r->key, key, sizeof r->key);
    if (!drovek_conv_file_find(key, r) || !is_possible(opt, r)) {
        const drove_status status = measure(opt, r);
        if (status != DROVE_OK) {
            drove__free(r);
            return status;
        }
        drovek_conv_file_add(r);
    }
    make_known(r);
    *out = r;
    return DROVE_OK;
}

/* Finds, reads or measures the record. */
static drove_status find_record(const drovek_conv_options *opt, const drovek_conv_record **out)
{
    char key[DROVEK_CONV_KEY];
    name_case(opt, key);
    *out = look_up(key);
    if (*out != NULL) return DROVE_OK;
    pthread_mutex_lock(&measure_lock);
    const drove_status status = make_record(opt, key, out);
    pthread_mutex_unlock(&measure_lock);
    return status;
}

drove_status drovek_conv_choose(const drovek_conv_options *opt, drovek_conv_choice *out,
                                size_t most, size_t *n_out)
{
    drovek_conv_record only;
    const drovek_conv_record *r = &only;
    drove_status status = DROVE_OK;
    *n_out = 0;
    list_candidates(opt, &only);
    if (only.n_choices > 1) {
        status = find_record(opt, &r);
        if (status != DROVE_OK) return status;
    }
    for (size_t i = 0; i < r->n_choices && i < most; i++) {
        out[i] = r->choice[i];
        out[i].step_s *= (double)opt->rows;
        *n_out = i + 1;
    }
    return DROVE_OK;
}

/* The fastest way for the formats of the options; if it fails (the cache file may be wrong), the
 * next one of the table. */
static drove_status create_fastest(const drovek_conv_options *opt, drovek_conv **out)
{
    drovek_conv_choice choice[DROVEK_N_FORMATS * DROVEK_N_FORMATS];
    size_t n_choices;
    drove_status status = DROVE_E_UNSUPPORTED;
    DROVE_TRY(drovek_conv_choose(opt, choice, DROVE_COUNT(choice), &n_choices));
    for (size_t i = 0; i < n_choices; i++) {
        if (choice[i].in != opt->in || choice[i].out != opt->out) continue;
        status = drovek_conv_create_by(opt, drovek_conv_find_way(choice[i].way), out);
        break;
    }
    for (size_t i = 0; drovek_conv_ways[i] != NULL && status == DROVE_E_UNSUPPORTED; i++)
        status = drovek_conv_create_by(opt, drovek_conv_ways[i], out);
    return status;
}

drove_status drovek_conv_create(const drovek_conv_options *opt, drovek_conv **out)
{
    *out = NULL;
    DROVE_TRY(drovek_conv_check(opt));
    if (opt->way == NULL) return create_fastest(opt, out);
    const drovek_conv_ops *way = drovek_conv_find_way(opt->way);
    if (way != NULL) return drovek_conv_create_by(opt, way, out);
    return drove__fail(DROVE_E_UNSUPPORTED, "convolution: '%s' is not in this build", opt->way);
}

void drovek_conv_forget(void)
{
    pthread_mutex_lock(&choose_lock);
    while (known != NULL) {
        drovek_conv_record *next = known->next;
        drove__free(known);
        known = next;
    }
    pthread_mutex_unlock(&choose_lock);
}
