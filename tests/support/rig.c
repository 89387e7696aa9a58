#include "support/rig.h"

#include "base/cpu.h"

#include <pthread.h>
#include <time.h>

static size_t n_of(const rig_options *o)
{
    return o->n > 0 ? o->n : 64;
}

static unsigned n_workers_of(const rig_options *o)
{
    return o->n_workers > 0 ? o->n_workers : 1;
}

static void make_optim(rig *r, const rig_options *o)
{
    const drove_optim_options opt = {.rule = o->rule != NULL ? o->rule : "sgd",
                                     .schedule = o->schedule != NULL ? o->schedule : "constant",
                                     .lr = o->lr > 0 ? o->lr : 1.0,
                                     .weight_decay = o->weight_decay,
                                     .clip = o->clip,
                                     .state = o->state,
                                     .n_params = n_of(o),
                                     .n_workers = n_workers_of(o),
                                     .kernels = &r->kernels};
    assert_int_equal(drove__optim_create(&opt, &r->optim), DROVE_OK);
    if (o->hook != NULL) r->optim->rule.ops = o->hook;
}

drove_sync_options rig_sync_options(const rig *r, const rig_options *o)
{
    return (drove_sync_options){.spec = &r->spec,
                                .backoff = o->backoff,
                                .n_workers = n_workers_of(o),
                                .optim = r->optim,
                                .place = o->place,
                                .seed = 1,
                                .layout = o->layout,
                                .convert = o->convert,
                                .is_deep = o->is_deep,
                                .part = o->part,
                                .n_parts = o->n_parts,
                                .is_resident = o->is_resident,
                                .transport = o->transport,
                                .period = o->period,
                                .rho = o->rho,
                                .is_read_beside = o->is_read_beside,
                                .by_layer = o->part != NULL && !o->is_packed,
                                .wire_format = o->wire_format};
}

drove_status rig_try_row(rig *r, rig_options o)
{
    memset(r, 0, sizeof *r);
    if (o.kernels != NULL) r->kernels = *o.kernels;
    else assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), NULL), DROVE_OK);
    make_optim(r, &o);
    assert_int_equal(drove__spec_parse(o.variant, &r->spec), DROVE_OK);
    const drove_sync_options opt = rig_sync_options(r, &o);
    float *theta0 = drove__alloc(n_of(&o), sizeof *theta0);
    uint32_t *words = drove__alloc(n_of(&o), sizeof *words);
    assert_true(theta0 != NULL && words != NULL);
    if (o.theta0 != NULL) memcpy(theta0, o.theta0, n_of(&o) * sizeof *theta0);
    const drove_params start =
        o.layout != NULL ? (drove_params){.words = words} : (drove_params){.theta = theta0};
    const drove_status status = drove__sync_create(o.ops, &opt, &start, &r->sync);
    drove__free(words);
    drove__free(theta0);
    return status;
}

void rig_init_row(rig *r, rig_options o)
{
    if (rig_try_row(r, o) != DROVE_OK) fail_msg("%s: %s", o.variant, drove_error_text());
}

void rig_fini(rig *r)
{
    drove__sync_destroy(r->sync);
    drove__spec_fini(&r->spec);
    drove__optim_destroy(r->optim);
}

drove_status take_step(rig *r, unsigned worker, const float *value, float eta, drove_view *view,
                       drove_publish_info *info)
{
    drove_sync *s = r->sync;
    drove_view here;
    drove_publish_info done = {0};
    drove_step step = {.value = value, .eta = eta};
    if ((s->needs & DROVE_SYNC_LIVE) != 0) {
        float *theta = s->live->begin(s, worker).theta;
        here = (drove_view){.vector = theta, .version = s->worker[worker].version};
        r->kernels.sgd_f32(theta, theta, value, r->optim->n, eta);
        DROVE_TRY(s->live->done(s, worker, 1, &done));
    } else {
        DROVE_TRY(s->ops->acquire(s, worker, &here));
        float *lent = s->ops->gradient != NULL ? s->ops->gradient(s, worker) : NULL;
        if (lent != NULL) step.value = memcpy(lent, value, r->optim->n * sizeof *lent);
        drove__sync_release(s, worker);
        DROVE_TRY(s->ops->publish(s, worker, &step, &done));
    }
    if (view != NULL) *view = here;
    if (info != NULL) *info = done;
    return DROVE_OK;
}

typedef struct pool_member {
    rig *r;
    unsigned worker;
    void *arg;
    void (*body)(rig *r, unsigned worker, void *arg);
    pthread_barrier_t *start;
    pthread_t thread;
} pool_member;

static void *pool_main(void *arg)
{
    pool_member *me = arg;
    pthread_barrier_wait(me->start);
    me->body(me->r, me->worker, me->arg);
    return NULL;
}

void run_workers(rig *r, void (*body)(rig *, unsigned, void *), void *arg)
{
    unsigned n = r->sync->n_workers;
    pool_member member[MOST_WORKERS];
    pthread_barrier_t start;
    assert_true(n <= MOST_WORKERS);
    assert_int_equal(pthread_barrier_init(&start, NULL, n), 0);
    for (unsigned w = 0; w < n; w++) {
        member[w] = (pool_member){.r = r, .worker = w, .arg = arg, .body = body, .start = &start};
        assert_int_equal(pthread_create(&member[w].thread, NULL, pool_main, &member[w]), 0);
    }
    for (unsigned w = 0; w < n; w++) pthread_join(member[w].thread, NULL);
    pthread_barrier_destroy(&start);
}

void rest_us(unsigned us)
{
    struct timespec rest = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    nanosleep(&rest, NULL);
}
