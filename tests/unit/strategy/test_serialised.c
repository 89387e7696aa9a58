/* A serialised strategy: its slots run under the lock, in one order, and views are copies.
 * The linker puts functions of this file in the place of the lock's and the topology's
 *, so that they are counted.
 *
 * ctest: wraps=drove__topo_alloc,drove__topo_free,drove__lock,drove__unlock */
#include "strategy/serialised.h"
#include "support/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N = 24, N_WORKERS = 4, PRIVATE = 2 /* the worker that has a copy of its own */ };

/* ---- in the place of others ---- */

static unsigned n_held, n_vectors;

bool __real_drove__lock(pthread_mutex_t *mutex);
void __real_drove__unlock(pthread_mutex_t *mutex);
bool __wrap_drove__lock(pthread_mutex_t *mutex);
void __wrap_drove__unlock(pthread_mutex_t *mutex);
void *__wrap_drove__topo_alloc(const drove_topo *topo, size_t size_bytes, int node);
void __wrap_drove__topo_free(const drove_topo *topo, void *memory, size_t size_bytes);

bool __wrap_drove__lock(pthread_mutex_t *mutex)
{
    n_held++;
    return __real_drove__lock(mutex);
}

void __wrap_drove__unlock(pthread_mutex_t *mutex)
{
    n_held--;
    __real_drove__unlock(mutex);
}

void *__wrap_drove__topo_alloc(const drove_topo *topo, size_t size_bytes, int node)
{
    (void)topo, (void)node;
    n_vectors++;
    return calloc(1, size_bytes);
}

void __wrap_drove__topo_free(const drove_topo *topo, void *memory, size_t size_bytes)
{
    (void)topo, (void)size_bytes;
    n_vectors--;
    free(memory);
}

/* ---- a strategy that notes who called it ---- */

typedef enum slot { ACQUIRE, RELEASE, PUBLISH, LIVE, LIVE_DONE, N_SLOTS } slot;

static unsigned n_calls[N_SLOTS][N_WORKERS];
static float shared[N]; /* element i is 100 x (the worker that acquired last) + i */
static drove_status answer;

static void note(slot which, unsigned worker)
{
    assert_int_equal(n_held, 1);
    assert_true(worker < N_WORKERS);
    n_calls[which][worker]++;
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    (void)s;
    note(ACQUIRE, worker);
    for (unsigned i = 0; i < N; i++) shared[i] = 100.0f * (float)worker + (float)i;
    *view = (drove_view){.vector = shared, .version = 7};
    return answer;
}

static unsigned n_held_at_release; /* by the latest */

static void release(drove_sync *s, unsigned worker)
{
    (void)s;
    n_held_at_release = n_held;
    n_calls[RELEASE][worker]++;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    (void)s, (void)step;
    note(PUBLISH, worker);
    *info = (drove_publish_info){.attempts = 3};
    return answer;
}

static drove_params live(drove_sync *s, unsigned worker)
{
    (void)s;
    note(LIVE, worker);
    return (drove_params){.theta = shared};
}

static drove_status live_done(drove_sync *s, unsigned worker, uint64_t n_steps,
                              drove_publish_info *info)
{
    (void)s;
    note(LIVE_DONE, worker);
    *info = (drove_publish_info){.attempts = (uint32_t)n_steps};
    return answer;
}

static void fini(drove_sync *s)
{
    drove__sync_vector_free(s, s->worker[PRIVATE].copy);
}

static const drove_sync_live_ops lends = {.begin = live, .done = live_done};
static const drove_sync_ops inner = {
    .name = "inner",
    .fini = fini,
    .promises = DROVE_SYNC_NO_LOSS | DROVE_SYNC_LOCK_FREE,
    .needs = DROVE_SYNC_RACY | DROVE_SYNC_LIVE,
    .acquire = acquire,
    .release = release,
    .publish = publish,
    .live = &lends,
};

static void copy(float *to, const float *from, size_t n)
{
    memcpy(to, from, n * sizeof *to);
}

static const drovek_table kernels = {.copy_f32 = copy};
static const drove_optim optim = {.n = N, .n_vector = N, .kernels = &kernels};
static const char topo; /* only its address is used */

static void begin(drove_sync *s, unsigned needs, bool is_typed)
{
    *s = (drove_sync){.ops = &inner,
                      .n_workers = N_WORKERS,
                      .promises = inner.promises,
                      .needs = inner.needs | needs,
                      .live = is_typed ? &lends : NULL,
                      .optim = &optim,
                      .topo = (const drove_topo *)&topo,
                      .n_vector = N,
                      .worker = calloc(N_WORKERS, sizeof *s->worker)};
    assert_non_null(s->worker);
    s->worker[PRIVATE].copy = drove__sync_vector(s, PRIVATE);
    memset(n_calls, 0, sizeof n_calls);
    answer = DROVE_OK;
    assert_int_equal(drove__sync_serialise(s, is_typed), DROVE_OK);
}

static void end(drove_sync *s)
{
    assert_int_equal(n_held, 0);
    s->ops->fini(s); /* the inner one, too */
    free(s->worker);
    assert_int_equal(n_vectors, 0);
}

static void check_calls(slot which, unsigned of_each)
{
    for (unsigned w = 0; w < N_WORKERS; w++) assert_int_equal(n_calls[which][w], of_each);
}

/* ---- tests ---- */

TEST(the_table_is_ordered_and_free_of_races)
{
    for (int is_typed = 0; is_typed <= 1; is_typed++) {
        drove_sync s;
        begin(&s, 0, is_typed);
        assert_int_equal(s.promises, DROVE_SYNC_NO_LOSS | DROVE_SYNC_SNAPSHOT | DROVE_SYNC_ORDERED);
        assert_int_equal(s.needs, 0);
        assert_string_equal(s.ops->name, "inner");
        assert_true((s.live != NULL) == is_typed && (s.ops->replay != NULL) == is_typed);
        end(&s);
    }
}

/* Each worker keeps what it was lent while the others are lent theirs, except where the strategy's
 * own view is private already. */
TEST(a_view_is_the_workers_copy)
{
    drove_sync s;
    drove_view view[N_WORKERS];
    begin(&s, 0, false);
    assert_int_equal(n_vectors, N_WORKERS); /* one each, and none twice */
    for (unsigned w = 0; w < N_WORKERS; w++) {
        assert_int_equal(s.ops->acquire(&s, w, &view[w]), DROVE_OK);
        assert_int_equal(n_held, 0);
        assert_int_equal(view[w].version, 7);
        assert_int_equal(n_calls[ACQUIRE][w], 1);
        assert_int_equal(n_calls[RELEASE][w], w != PRIVATE);
        if (w != PRIVATE) assert_int_equal(n_held_at_release, 1);
    }
    for (unsigned w = 0; w < N_WORKERS; w++) {
        assert_true((view[w].vector == shared) == (w == PRIVATE));
        for (unsigned i = 0; w != PRIVATE && i < N; i++)
            assert_true(view[w].vector[i] == 100.0f * (float)w + (float)i);
        s.ops->release(&s, w);
    }
    check_calls(RELEASE, 1);
    end(&s);
}

static void check_no_copies(unsigned needs, bool is_typed)
{
    drove_sync s;
    drove_view view;
    begin(&s, needs, is_typed);
    assert_int_equal(n_vectors, 1); /* the private one */
    for (unsigned w = 0; w < N_WORKERS; w++) {
        assert_int_equal(s.ops->acquire(&s, w, &view), DROVE_OK);
        assert_ptr_equal(view.vector, shared);
        assert_int_equal(n_calls[RELEASE][w], 0);
        s.ops->release(&s, w);
    }
    check_calls(RELEASE, 1);
    end(&s);
}

TEST(words_and_vectors_of_ones_own_are_not_copied)
{
    check_no_copies(DROVE_SYNC_SPREAD, false);
    check_no_copies(0, true);
}

/* Publications have the places 0, 1, 2 ...; a view says how many are before it. */
TEST(places_are_those_of_the_publications)
{
    const drove_step step = {0};
    drove_sync s;
    drove_view view;
    uint64_t n = 0;
    begin(&s, 0, true);
    for (unsigned i = 0; i < 40; i++) {
        drove_publish_info info = {0};
        unsigned w = i % N_WORKERS;
        answer = i % 5 == 4 ? DROVE_E_SYSTEM : DROVE_OK;
        assert_int_equal(s.ops->acquire(&s, w, &view), answer);
        assert_int_equal(view.order, n);
        assert_int_equal(s.ops->publish(&s, w, &step, &info), answer);
        assert_int_equal(info.order, n++);
        assert_int_equal(info.attempts, 3);
        assert_int_equal(n_held, 0);
        assert_ptr_equal(s.live->begin(&s, w).theta, shared);
        assert_int_equal(n_held, 1); /* until the steps are made */
        assert_int_equal(s.live->done(&s, w, 6, &info), answer);
        assert_int_equal(info.order, n++);
        assert_int_equal(info.attempts, 6);
        assert_int_equal(n_held, 0);
        (void)s.live->begin(&s, w);
        assert_int_equal(n_held, 1);
        assert_int_equal(s.ops->replay->live_end(&s, w), n++);
        assert_int_equal(n_held, 0);
    }
    check_calls(PUBLISH, 10);
    check_calls(LIVE, 20);
    check_calls(LIVE_DONE, 10);
    end(&s);
}

/* What failed is not copied, and the lock is free again. */
TEST(a_view_that_failed_is_not_released)
{
    drove_sync s;
    drove_view view;
    begin(&s, 0, false);
    answer = DROVE_E_SYSTEM;
    assert_int_equal(s.ops->acquire(&s, 1, &view), DROVE_E_SYSTEM);
    assert_ptr_equal(view.vector, shared);
    check_calls(RELEASE, 0);
    end(&s);
}
