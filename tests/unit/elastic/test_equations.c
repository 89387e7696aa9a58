/* test_equations.c - every method against its equations in float64, written from the paper: (1) and
 * (2), (3) and (4), (5) and (6), local SGD and DiLoCo.
 *
 * The problem: worker i's t-th gradient at W is h_j (W_j - x_ijt), element by element, with random
 * targets x, so a wrong order, sign, factor or time of any term shows.  Synchronous methods run a
 * thread per worker, the others one worker after the other in a given order.
 */
#include "support/strategies.h"

#include "elastic/elastic.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

enum { N = 48, MOST = 5, STEPS = 24 };
#define ETA   0.05f
#define BOUND 2e-5 /* |float - float64| of an element: 24 steps of numbers about 1 */

typedef struct plan {
    const drove_sync_ops *ops;
    const char *variant, *period, *rule;
    unsigned n_workers, tau;
    double rho, mu;
    bool shared_state, by_layer;
} plan;

static double h(unsigned j)
{
    return 0.5 + 0.03 * j;
}

static double targets[MOST][MOST * STEPS][N]; /* the same in every case */

static void draw_targets(void)
{
    for (unsigned worker = 0; worker < MOST; worker++) {
        for (unsigned t = 0; t < MOST * STEPS; t++) {
            drove_rng rng;
            drove__rng_seed(&rng, 5, DROVE_RNG_TEST, (uint64_t)worker * 1000 + t);
            for (unsigned j = 0; j < N; j++)
                targets[worker][t][j] = drove__rng_normal(&rng) + 0.1 * j;
        }
    }
}

static double target(unsigned worker, unsigned t, unsigned j)
{
    return targets[worker][t][j];
}

static float first(unsigned j)
{
    return 0.01f * (float)j - 0.2f;
}

/* ---- the equations ---- */

typedef struct model64 { /* state of the equations */
    double w[MOST][N], v[MOST][N], c[N], outer[N];
    unsigned taken[MOST], since[MOST];
} model64;

static void begin64(model64 *m, unsigned n_workers)
{
    memset(m, 0, sizeof *m);
    for (unsigned j = 0; j < N; j++) {
        m->c[j] = (double)first(j);
        for (unsigned i = 0; i < n_workers; i++) m->w[i][j] = (double)first(j);
    }
}

static double gradient64(const model64 *m, unsigned i, unsigned j)
{
    return h(j) * (m->w[i][j] - target(i, m->taken[i], j));
}

/* (5): V' = mu V - eta g; without momentum mu is 0. */
static double velocity64(model64 *m, const plan *p, unsigned i, unsigned j)
{
    return m->v[i][j] = p->mu * m->v[i][j] - (double)ETA * gradient64(m, i, j);
}

static double alpha64(const plan *p)
{
    return p->rho > 0.0 ? (double)ETA * p->rho : 0.9 / p->n_workers;
}

/* One step of all: (1) or (6), and (2) with the sum over all. */
static void synchronous64(model64 *m, const plan *p)
{
    bool meets = (m->taken[0] + 1) % p->tau == 0;
    double alpha = meets ? alpha64(p) : 0.0;
    for (unsigned j = 0; j < N; j++) {
        double c = m->c[j];
        for (unsigned i = 0; i < p->n_workers; i++) {
            double w = m->w[i][j];
            m->w[i][j] = w + velocity64(m, p, i, j) - alpha * (w - c);
            m->c[j] += alpha * (w - c);
        }
    }
    for (unsigned i = 0; i < p->n_workers; i++) m->taken[i]++;
}

/* One step of one: (1) or (6), and (2) for it alone. */
static void call64(model64 *m, const plan *p, unsigned i)
{
    bool meets = (m->taken[i] + 1) % p->tau == 0;
    double alpha = meets ? alpha64(p) : 0.0;
    for (unsigned j = 0; j < N; j++) {
        double w = m->w[i][j], c = m->c[j];
        m->w[i][j] = w + velocity64(m, p, i, j) - alpha * (w - c);
        m->c[j] = c + alpha * (w - c);
    }
    m->taken[i]++;
}

/* The parameter server: (3) and (4) at the centre, which worker i then has. */
static void server64(model64 *m, const plan *p, unsigned i)
{
    for (unsigned j = 0; j < N; j++) {
        m->v[0][j] = p->mu * m->v[0][j] - (double)ETA * gradient64(m, i, j);
        m->c[j] += m->v[0][j];
        m->w[i][j] = m->c[j];
    }
    m->taken[i]++;
}

static void allreduce64(model64 *m, const plan *p)
{
    for (unsigned j = 0; j < N; j++) {
        double g = 0.0;
        for (unsigned i = 0; i < p->n_workers; i++) g += gradient64(m, i, j) / p->n_workers;
        m->v[0][j] = p->mu * m->v[0][j] - (double)ETA * g;
        m->c[j] += m->v[0][j];
        for (unsigned i = 0; i < p->n_workers; i++) m->w[i][j] = m->c[j];
    }
    for (unsigned i = 0; i < p->n_workers; i++) m->taken[i]++;
}

/* local (is_outer false) and DiLoCo. */
static void averaging64(model64 *m, const plan *p, bool is_outer)
{
    const double lr = 0.7, momentum = 0.9;
    bool meets = (m->taken[0] + 1) % p->tau == 0;
    for (unsigned j = 0; j < N; j++) {
        double mean = 0.0;
        for (unsigned i = 0; i < p->n_workers; i++) {
            m->w[i][j] += velocity64(m, p, i, j);
            mean += m->w[i][j] / p->n_workers;
        }
        double gained = m->c[j] - mean;
        if (meets && is_outer) {
            m->outer[j] = momentum * m->outer[j] + gained;
            m->c[j] -= lr * (gained + momentum * m->outer[j]);
        }
        if (!is_outer) m->c[j] = mean; /* what is evaluated */
        for (unsigned i = 0; meets && i < p->n_workers; i++) m->w[i][j] = m->c[j];
    }
    for (unsigned i = 0; i < p->n_workers; i++) m->taken[i]++;
}

/* ---- the strategy ---- */

typedef struct stage {
    const plan *p;
    drove_optim_worker own[MOST];
    unsigned taken[MOST];
    unsigned n_failed[MOST];
    float *g[MOST];
} stage;

static void step_once(rig *r, unsigned worker, void *arg)
{
    stage *st = arg;
    drove_sync *s = r->sync;
    drove_view view;
    drove_step made;
    drove_publish_info info;
    if (s->ops->acquire(s, worker, &view) != DROVE_OK) {
        st->n_failed[worker]++;
        return;
    }
    unsigned t = st->taken[worker]++;
    float *lent = s->ops->gradient != NULL && t % 2 == 1 ? s->ops->gradient(s, worker) : NULL;
    float *g = lent != NULL ? lent : st->g[worker];
    for (unsigned j = 0; j < N; j++)
        g[j] = (float)(h(j) * ((double)view.vector[j] - target(worker, t, j)));
    drove__optim_prepare(r->optim, &st->own[worker], view.vector, g, NULL, 0, ETA, &made);
    drove__sync_release(s, worker);
    st->n_failed[worker] += s->ops->publish(s, worker, &made, &info) != DROVE_OK;
}

static void step_all(rig *r, unsigned worker, void *arg)
{
    for (unsigned i = 0; i < STEPS; i++) step_once(r, worker, arg);
}

static void open_stage(rig *r, stage *st, const plan *p)
{
    static const drove_span parts[] = {{0, 16}, {16, 16}, {32, 16}};
    float theta0[N];
    if (targets[0][0][N - 1] == 0.0) draw_targets();
    for (unsigned j = 0; j < N; j++) theta0[j] = first(j);
    rig_init(r, (rig_options){.variant = p->variant,
                              .ops = p->ops,
                              .rule = p->rule,
                              .lr = (double)ETA,
                              .state = p->shared_state ? DROVE_STATE_SHARED : DROVE_STATE_WORKER,
                              .n_workers = p->n_workers,
                              .n = N,
                              .theta0 = theta0,
                              .rho = p->rho,
                              .period = p->period,
                              .part = p->by_layer ? parts : NULL,
                              .n_parts = p->by_layer ? 3 : 0});
    *st = (stage){.p = p};
    for (unsigned i = 0; i < p->n_workers; i++) {
        assert_int_equal(drove__optim_worker_init(&st->own[i], r->optim), DROVE_OK);
        st->g[i] = drove__alloc(N, sizeof(float));
    }
}

static void close_stage(rig *r, stage *st)
{
    for (unsigned i = 0; i < st->p->n_workers; i++) {
        drove__optim_worker_fini(&st->own[i]);
        drove__free(st->g[i]);
    }
    rig_fini(r);
}

static void compare(const plan *p, const char *what, unsigned i, const float *found,
                    const double *expected)
{
    for (unsigned j = 0; j < N; j++) {
        double off = fabs((double)found[j] - expected[j]);
        if (!(off < BOUND * fmax(1.0, fabs(expected[j]))))
            fail_msg("%s, %u workers, tau %u, mu %g, rho %g: %s %u, element %u: expected %.9g, "
                     "found %.9g",
                     p->variant, p->n_workers, p->tau, p->mu, p->rho, what, i, j, expected[j],
                     (double)found[j]);
    }
}

static void check(rig *r, const stage *st, const model64 *m)
{
    const plan *p = st->p;
    compare(p, "centre", 0, r->sync->ops->peek(r->sync).theta, m->c);
    for (unsigned i = 0; i < p->n_workers; i++) {
        assert_int_equal(st->n_failed[i], 0);
        compare(p, "worker", i, r->sync->ops->replicas->vector(r->sync, i), m->w[i]);
    }
}

/* All workers at once, in rounds. */
static void check_rounds(const plan *p, void (*round64)(model64 *, const plan *))
{
    rig r;
    stage st;
    model64 *m = malloc(sizeof *m);
    open_stage(&r, &st, p);
    begin64(m, p->n_workers);
    run_workers(&r, step_all, &st);
    for (unsigned t = 0; t < STEPS; t++) round64(m, p);
    check(&r, &st, m);
    assert_int_equal(atomic_load(&r.sync->published), STEPS);
    assert_int_equal(r.sync->batches_per_update, p->n_workers);
    free(m);
    close_stage(&r, &st);
}

/* One after the other, in turns or in a given order. */
static void check_central(const plan *p, bool in_turns,
                          void (*step64)(model64 *, const plan *, unsigned))
{
    rig r;
    stage st;
    drove_rng rng;
    model64 *m = malloc(sizeof *m);
    open_stage(&r, &st, p);
    begin64(m, p->n_workers);
    drove__rng_seed(&rng, 9, DROVE_RNG_TEST, 0);
    for (unsigned t = 0; t < STEPS * p->n_workers; t++) {
        unsigned i = in_turns ? t % p->n_workers : (unsigned)drove__rng_below(&rng, p->n_workers);
        step_once(&r, i, &st);
        step64(m, p, i);
    }
    check(&r, &st, m);
    assert_int_equal(atomic_load(&r.sync->published), STEPS * p->n_workers);
    assert_int_equal(r.sync->batches_per_update, 1);
    free(m);
    close_stage(&r, &st);
}

/* ---- cases: workers x tau x momentum x rho, and where the state is, and how it travels ---- */

static void each_case(const drove_sync_ops *ops, const char *variant, bool has_period, bool has_rho,
                      void (*body)(const plan *p))
{
    static const unsigned workers[] = {1, 2, 3, 4, 5}, taus[] = {1, 3, 4};
    for (unsigned k = 0; k < DROVE_COUNT(workers) * 3 * 2 * 2 * 2; k++) {
        plan p = {.ops = ops, .variant = variant, .n_workers = workers[k % 5], .tau = 1};
        unsigned more = k / 5;
        char period[16];
        if (has_period) {
            p.tau = taus[more % 3];
            snprintf(period, sizeof period, "%u", p.tau);
            p.period = period;
        } else if (more % 3 != 0) {
            continue;
        }
        more /= 3;
        p.mu = more % 2 == 1 ? 0.8 : 0.0;
        p.rule = more % 2 == 1 ? "momentum:0.8" : "sgd";
        p.shared_state = more / 2 % 2 == 1;
        if (more / 4 == 1 && !has_rho) continue;
        if (more / 4 == 1) p.rho = 0.9 * 2.0 / (p.n_workers + 1.0) / (double)ETA / 2.0;
        p.by_layer = k % 7 == 3;
        body(&p);
    }
}

static void check_synchronous(const plan *p)
{
    check_rounds(p, synchronous64);
}

TEST(synchronous_methods)
{
    each_case(&drove__sync_easgd_sync1, "easgd-sync1", true, true, check_synchronous);
    each_case(&drove__sync_easgd_sync2, "easgd-sync2", true, true, check_synchronous);
    each_case(&drove__sync_easgd_sync3, "easgd-sync3", true, true, check_synchronous);
    each_case(&drove__sync_easgd_sync3, "easgd-sync3?centre=one", true, true, check_synchronous);
}

static void check_async(const plan *p)
{
    check_central(p, false, call64);
}

TEST(asynchronous_methods)
{
    each_case(&drove__sync_easgd_async, "easgd-async", true, true, check_async);
    each_case(&drove__sync_easgd_async, "easgd-async?overlap=1", true, true, check_async);
    each_case(&drove__sync_measgd_async, "measgd-async", true, true, check_async);
    each_case(&drove__sync_easgd_hogwild, "easgd-hogwild", true, true, check_async);
}

static void check_turns(const plan *p)
{
    check_central(p, true, call64);
}

TEST(round_robin)
{
    each_case(&drove__sync_easgd, "easgd", true, true, check_turns);
    each_case(&drove__sync_easgd, "easgd?overlap=0", true, true, check_turns);
}

/* With the rule's state at the worker, the centre only adds finished steps: another method, which
 * (3) and (4) do not describe for several workers. */
static void check_server(const plan *p)
{
    if (p->shared_state || p->mu == 0.0 || p->n_workers == 1) check_central(p, false, server64);
}

TEST(parameter_server)
{
    each_case(&drove__sync_psgd_async, "psgd-async", false, false, check_server);
    each_case(&drove__sync_pmsgd_async, "pmsgd-async", false, false, check_server);
    each_case(&drove__sync_psgd_hogwild, "psgd-hogwild", false, false, check_server);
}

static void check_allreduce(const plan *p)
{
    check_rounds(p, allreduce64);
}

static void local64(model64 *m, const plan *p)
{
    averaging64(m, p, false);
}

static void diloco64(model64 *m, const plan *p)
{
    averaging64(m, p, true);
}

static void check_local(const plan *p)
{
    check_rounds(p, local64);
}

static void check_diloco(const plan *p)
{
    check_rounds(p, diloco64);
}

TEST(averaging)
{
    each_case(&drove__sync_allreduce, "allreduce", false, false, check_allreduce);
    each_case(&drove__sync_local, "local", true, false, check_local);
    each_case(&drove__sync_diloco, "diloco", true, false, check_diloco);
}
