/* tree step by step: which device adds whose gradient, what residents and the others get of the
 * mean, and who waits for whom behind a restore. */
#include "accum/accum.h"
#include "support/rig.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { N = 64, N_PARTS = 3, MOST = 5 };
static const drove_span parts[N_PARTS] = {{0, 16}, {16, 40}, {56, 8}};

typedef struct wanted {
    const char *variant;
    unsigned n_workers;
    const bool *is_resident;
    const drove_place *place;
    bool is_whole, is_apart; /* one part; sites of their own, as processes are */
} wanted;

/* ---- an addition that is noted ---- */

static void (*add_really)(float *to, const float *x, const float *y, size_t n, float a,
                          bool streams);
static const float *gradient_at[MOST];
static _Atomic unsigned n_additions;
static struct {
    unsigned left, right;
} addition[MOST];

static unsigned owner_of(const float *gradient)
{
    unsigned w = 0;
    while (w < MOST && gradient_at[w] != gradient) w++;
    return w;
}

static void add_noted(float *to, const float *x, const float *y, size_t n, float a, bool streams)
{
    const unsigned i = atomic_fetch_add(&n_additions, 1) % MOST;
    addition[i].left = owner_of(x);
    addition[i].right = owner_of(y);
    add_really(to, x, y, n, a, streams);
}

static bool was_added(unsigned left, unsigned right)
{
    for (unsigned i = 0; i < atomic_load(&n_additions); i++)
        if (addition[i].left == left && addition[i].right == right) return true;
    return false;
}

/* ---- the rig ---- */

static drove_status try_open(rig *r, const wanted *x)
{
    drovek_table kernels = drovek_ref;
    add_really = kernels.add_f32;
    kernels.add_f32 = add_noted;
    atomic_store(&n_additions, 0);
    if (x->is_apart) drove__memory_share_begin();
    const drove_status status = rig_try_row(r, (rig_options){.ops = &drove__accum_tree,
                                                             .variant = x->variant,
                                                             .n = N,
                                                             .n_workers = x->n_workers,
                                                             .part = x->is_whole ? NULL : parts,
                                                             .n_parts = x->is_whole ? 0 : N_PARTS,
                                                             .is_resident = x->is_resident,
                                                             .place = x->place,
                                                             .kernels = &kernels});
    if (x->is_apart) drove__memory_share_end();
    return status;
}

static void open_rig(rig *r, const wanted *x)
{
    if (try_open(r, x) != DROVE_OK) fail_msg("%s: %s", x->variant, drove_error_text());
    for (unsigned w = 0; w < x->n_workers; w++) gradient_at[w] = r->sync->ops->gradient(r->sync, w);
}

typedef struct member {
    rig *r;
    unsigned worker;
    float value; /* of its gradient, at each place i times i + 1 */
    bool is_resident, by_layer;
    unsigned n_parts;
    float mean; /* that a resident gets, likewise */
    unsigned n_wrong;
    _Atomic bool is_done;
} member;

static void take_sums(member *m)
{
    const drove_span whole = {0, N};
    const drove_sync_ops *ops = m->r->sync->ops;
    drove_sum sum = {0};
    for (unsigned p = m->n_parts; p-- > 0;) {
        const drove_span *part = m->n_parts == 1 ? &whole : &parts[p];
        m->n_wrong += !ops->slices->next_sum(m->r->sync, m->worker, true, &sum);
        m->n_wrong += sum.offset != part->offset || sum.length != part->length;
        for (size_t i = sum.offset; i < sum.offset + sum.length; i++)
            m->n_wrong += sum.value[i] != m->mean * (float)(i + 1);
    }
    m->n_wrong += ops->slices->next_sum(m->r->sync, m->worker, true, &sum); /* all were given */
}

static void *step(void *argument)
{
    member *m = argument;
    drove_sync *s = m->r->sync;
    drove_view view;
    drove_sum sum;
    drove_publish_info info;
    float *g = s->ops->gradient(s, m->worker);
    m->n_wrong += s->ops->acquire(s, m->worker, &view) != DROVE_OK;
    for (size_t i = 0; i < N; i++) g[i] = m->value * (float)(i + 1);
    for (unsigned p = m->n_parts; m->by_layer && p-- > 0;) {
        if (m->is_resident) m->n_wrong += s->ops->slices->next_sum(s, m->worker, true, &sum);
        m->n_wrong += s->ops->slices->ready(s, m->worker, 0, 1, g, 1.0f) != 0;
    }
    if (m->is_resident) m->n_wrong += s->ops->slices->next_sum(s, m->worker, false, &sum);
    if (m->is_resident) take_sums(m);
    const drove_step published = {.value = g, .eta = 1.0f};
    m->n_wrong += s->ops->publish(s, m->worker, &published, &info) != DROVE_OK;
    atomic_store(&m->is_done, true);
    return NULL;
}

/* Gradients 1, 3, 5 ...: their mean is the number of workers. */
static member member_of(rig *r, const wanted *x, unsigned w)
{
    return (member){.r = r,
                    .worker = w,
                    .value = 1.0f + 2.0f * (float)w,
                    .is_resident = x->is_resident != NULL && x->is_resident[w],
                    .by_layer = x->is_resident != NULL,
                    .n_parts = x->is_whole ? 1 : N_PARTS,
                    .mean = (float)x->n_workers};
}

static void step_all(rig *r, const wanted *x)
{
    pthread_t thread[MOST];
    member m[MOST];
    for (unsigned w = 0; w < x->n_workers; w++) {
        m[w] = member_of(r, x, w);
        assert_int_equal(pthread_create(&thread[w], NULL, step, &m[w]), 0);
    }
    for (unsigned w = 0; w < x->n_workers; w++) pthread_join(thread[w], NULL);
    for (unsigned w = 0; w < x->n_workers; w++) assert_int_equal(m[w].n_wrong, 0);
}

/* ---- the order of the leaves ---- */

/* Devices of a node are neighbours, the first one's node first; a list says it itself. */
TEST(neighbours_of_a_node_add_first)
{
    static const drove_place four[] = {{.node = 0}, {.node = 1}, {.node = 0}, {.node = 1}},
                             five[] = {
                                 {.node = 1}, {.node = 0}, {.node = 0}, {.node = 1}, {.node = 1}};
    static const struct {
        wanted x;
        unsigned pair[MOST - 1][2];
    } cases[] = {
        {{"tree", 4, NULL, four, true, false}, {{0, 1}, {2, 3}, {0, 2}}},
        {{"tree:0,3,1,2", 4, NULL, four, true, false}, {{0, 3}, {1, 2}, {0, 1}}},
        {{"tree?links=nodes", 4, NULL, NULL, true, false}, {{0, 1}, {2, 3}, {0, 2}}},
        {{"tree?links=nodes", 4, NULL, four, true, false}, {{0, 2}, {1, 3}, {0, 1}}},
        {{"tree?links=nodes", 5, NULL, five, true, false}, {{0, 3}, {4, 1}, {0, 4}, {0, 2}}},
    };
    for (unsigned k = 0; k < DROVE_COUNT(cases); k++) {
        rig r;
        const unsigned n = cases[k].x.n_workers;
        open_rig(&r, &cases[k].x);
        step_all(&r, &cases[k].x);
        assert_int_equal(n_additions, n - 1);
        for (unsigned i = 0; i < n - 1; i++)
            if (!was_added(cases[k].pair[i][0], cases[k].pair[i][1]))
                fail_msg("case %u: %u + %u is missing", k, cases[k].pair[i][0],
                         cases[k].pair[i][1]);
        rig_fini(&r);
    }
}

TEST(what_processes_cannot_is_refused)
{
    static const bool is_resident[] = {false, true};
    static const struct {
        wanted x;
        const char *words;
    } cases[] = {
        {{"tree:0,1", 2, NULL, NULL, true, true}, "expected no order of the leaves"},
        {{"tree", 2, is_resident, NULL, true, true}, "expected workers that are processes"},
        {{"tree?rings=1", 2, NULL, NULL, true, false}, "rings"},
    };
    for (unsigned k = 0; k < DROVE_COUNT(cases); k++) {
        rig r;
        assert_int_equal(try_open(&r, &cases[k].x), DROVE_E_ARG);
        assert_non_null(strstr(drove_error_text(), cases[k].words));
        rig_fini(&r);
    }
}

/* A device has a buffer for each one that gives it a gradient: the root most, ceil(log2 n). */
TEST(the_root_receives_most)
{
    static const unsigned most[] = {0, 0, 1, 2, 2, 3};
    for (unsigned n = 1; n <= MOST; n++) {
        rig r;
        drove_accum_facts facts;
        const wanted x = {"tree", n, NULL, NULL, true, false};
        open_rig(&r, &x);
        assert_true(drove__accum_facts(r.sync, &facts));
        assert_true(facts.receive_vectors == (double)most[n]);
        rig_fini(&r);
    }
}

/* ---- residents ---- */

/* Any resident makes all update by the mean, each its own; a resident's replica stays. */
TEST(residents_get_the_mean_and_others_use_it)
{
    static const bool last[] = {false, false, true}, root[] = {true, false, false}, one[] = {true};
    static const wanted cases[] = {{"tree", 3, last, NULL, false, false},
                                   {"tree", 3, root, NULL, false, false},
                                   {"tree", 3, last, NULL, true, false},
                                   {"tree", 1, one, NULL, false, false},
                                   {"tree", 1, one, NULL, true, false}};
    for (unsigned k = 0; k < DROVE_COUNT(cases); k++) {
        const wanted *x = &cases[k];
        rig r;
        open_rig(&r, x);
        for (unsigned t = 1; t <= 3; t++) {
            step_all(&r, x);
            for (unsigned w = 0; w < x->n_workers; w++) {
                const float mean = x->is_resident[w] ? 0.0f : -(float)(x->n_workers * t);
                for (size_t i = 0; i < N; i++)
                    assert_true(r.sync->ops->replicas->vector(r.sync, w)[i] ==
                                mean * (float)(i + 1));
            }
        }
        rig_fini(&r);
    }
}

/* ---- a restore ---- */

/* To an earlier step: counts of later ones let nobody go on. */
TEST(behind_a_restore_workers_wait_for_each_other)
{
    static const wanted x = {"tree", 2, NULL, NULL, true, false};
    for (unsigned first = 0; first < 2; first++) {
        rig r;
        pthread_t thread[2];
        float theta[N] = {0};
        open_rig(&r, &x);
        for (unsigned t = 0; t < 3; t++) step_all(&r, &x);
        assert_int_equal(drove__sync_restore(r.sync, 1, &(drove_params){.theta = theta}, NULL),
                         DROVE_OK);
        member m[2] = {member_of(&r, &x, 0), member_of(&r, &x, 1)};
        assert_int_equal(pthread_create(&thread[first], NULL, step, &m[first]), 0);
        nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
        assert_false(atomic_load(&m[first].is_done));
        assert_int_equal(pthread_create(&thread[1 - first], NULL, step, &m[1 - first]), 0);
        for (unsigned w = 0; w < 2; w++) pthread_join(thread[w], NULL);
        assert_int_equal(m[0].n_wrong + m[1].n_wrong, 0);
        assert_int_equal(atomic_load(&r.sync->published), 2);
        for (size_t i = 0; i < N; i++)
            assert_true(r.sync->ops->replicas->vector(r.sync, 1)[i] == -2.0f * (float)(i + 1));
        rig_fini(&r);
    }
}
