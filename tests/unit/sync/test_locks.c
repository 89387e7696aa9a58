/* The lock-based strategies: who keeps whom out, what waiting costs, with and without back-off. */
#include "support/strategies.h"

#include <pthread.h>
#include <semaphore.h>

enum { N = 64, HELD_US = 40000 };

static const float gradient[N];

/* ---- a copy kernel and a rule that stop inside the critical region ---- */

static sem_t inside, go_on;
static _Thread_local bool stops_here;
static drovek_copy_f32_fn *plain_copy;

static void stop_if_asked(void)
{
    if (!stops_here) return;
    stops_here = false;
    sem_post(&inside);
    sem_wait(&go_on);
}

static void stopping_copy(float *to, const float *from, size_t n)
{
    plain_copy(to, from, n);
    stop_if_asked();
}

static void stopping_apply(const drove_rule *rule, const drovek_table *k, const drovek_update *u,
                           float eta, uint64_t t)
{
    (void)rule, (void)t;
    k->sgd_f32(u->out, u->in, u->g, u->n, eta);
    stop_if_asked();
}

static const drove_rule_ops stopping_rule = {.name = "sgd",
                                             .zero_is_noop = true,
                                             .apply = stopping_apply};

typedef enum deed { READ, WRITE } deed;

typedef struct actor {
    rig *r;
    unsigned worker;
    deed what;
    bool stops;
    _Atomic int begun, done; /* begun: its next instruction tries */
    drove_view view;
    drove_publish_info info;
    pthread_t thread;
} actor;

static void *act(void *arg)
{
    actor *a = arg;
    drove_step step = {.value = gradient, .eta = 1.0f};
    stops_here = a->stops;
    atomic_store(&a->begun, 1);
    if (a->what == READ) {
        (void)a->r->sync->ops->acquire(a->r->sync, a->worker, &a->view);
        drove__sync_release(a->r->sync, a->worker);
    } else {
        (void)a->r->sync->ops->publish(a->r->sync, a->worker, &step, &a->info);
    }
    atomic_store(&a->done, 1);
    return NULL;
}

/* Worker 0 stops inside its critical region; worker 1 tries; true: it had to wait until worker 0
 * went on. */
static bool excludes(rig *r, deed first, deed second, actor *other)
{
    actor holder = {.r = r, .worker = 0, .what = first, .stops = true};
    *other = (actor){.r = r, .worker = 1, .what = second};
    assert_int_equal(pthread_create(&holder.thread, NULL, act, &holder), 0);
    sem_wait(&inside);
    assert_int_equal(pthread_create(&other->thread, NULL, act, other), 0);
    while (atomic_load(&other->begun) == 0) rest_us(100); /* a busy machine starts it late */
    for (unsigned i = 0; i < 20 && atomic_load(&other->done) == 0; i++) rest_us(HELD_US / 20);
    bool waited = atomic_load(&other->done) == 0;
    sem_post(&go_on);
    pthread_join(holder.thread, NULL);
    pthread_join(other->thread, NULL);
    return waited;
}

/* The same until worker 1 says that it waited most of the time (a busy machine may let it try
 * late). */
static bool excludes_for_long(rig *r, deed first, deed second, actor *other)
{
    for (unsigned i = 0; i < 50; i++) {
        if (!excludes(r, first, second, other)) return false;
        uint64_t wait_ns = second == READ ? other->view.wait_ns : other->info.wait_ns;
        if (wait_ns > HELD_US * 500u) return true;
    }
    return false;
}

static void start(rig *r, const char *variant, const char *backoff)
{
    rig_init(r, (rig_options){.variant = variant,
                              .backoff = backoff,
                              .n = N,
                              .n_workers = 2,
                              .hook = &stopping_rule});
    plain_copy = r->kernels.copy_f32;
    r->kernels.copy_f32 = stopping_copy;
    sem_init(&inside, 0, 0);
    sem_init(&go_on, 0, 0);
}

TEST(a_lock_keeps_out_whom_it_should)
{
    static const struct {
        const char *variant;
        bool read_read;
    } cases[] = {{"mutex", true},
                 {"rwlock", false},
                 {"rwlock?prefer=writers", false},
                 {"ssp", true},
                 {"softsync", true}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        rig r;
        actor other;
        start(&r, cases[c].variant, NULL);
        assert_int_equal(excludes(&r, READ, READ, &other), cases[c].read_read);
        assert_int_equal(excludes(&r, READ, WRITE, &other), true);
        bool is_softsync = strcmp(cases[c].variant, "softsync") == 0;
        if (!is_softsync) { /* its first contribution does not reach the rule */
            assert_true(excludes_for_long(&r, WRITE, READ, &other));
            assert_int_equal(other.view.backoff_ns, 0);
            assert_true(excludes_for_long(&r, WRITE, WRITE, &other));
            assert_int_equal(other.info.attempts, 2);
        }
        rig_fini(&r);
    }
}

TEST(back_off_waits_outside)
{
    static const char *const variants[] = {"mutex", "rwlock", "rwlock?prefer=writers", "ssp"};
    static const char *const backoffs[] = {"linear?step_us=10", "exponential", "random?max_us=200"};
    for (size_t v = 0; v < DROVE_COUNT(variants); v++)
        for (size_t b = 0; b < DROVE_COUNT(backoffs); b++) {
            rig r;
            actor other;
            start(&r, variants[v], backoffs[b]);
            assert_true(excludes_for_long(&r, WRITE, WRITE, &other));
            assert_true(other.info.attempts > 2); /* without back-off it is 2 */
            assert_true(other.info.backoff_ns > 0);
            assert_true(other.info.backoff_ns <= other.info.wait_ns);
            assert_true(excludes_for_long(&r, WRITE, READ, &other));
            assert_true(other.view.backoff_ns > 0);
            rig_fini(&r);
        }
}

TEST(a_free_lock_costs_no_wait)
{
    static const char *const variants[] = {"mutex", "rwlock", "rwlock?prefer=writers", "ssp",
                                           "softsync:1"};
    for (size_t v = 0; v < DROVE_COUNT(variants); v++) {
        rig r;
        drove_view view;
        drove_publish_info info;
        start(&r, variants[v], "exponential");
        assert_int_equal(take_step(&r, 0, gradient, 1.0f, &view, &info), DROVE_OK);
        assert_int_equal(view.wait_ns, 0);
        assert_int_equal(info.wait_ns, 0);
        assert_int_equal(info.backoff_ns, 0);
        assert_int_equal(info.attempts, 1);
        rig_fini(&r);
    }
}
