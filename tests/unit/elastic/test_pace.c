/* --period auto on a clock of the test's own, as one rank of three whose sums are its own numbers:
 * the number of local steps follows from what a step and an exchange take.
 *
 * ctest: apart: its clock_gettime is for all */
#include "elastic/common.h"
#include "elastic/elastic.h"
#include "support/rig.h"

#include <time.h>

enum { N = 24, P = 3, EXCHANGES = 8 /* until the first decision, and from one to the next */ };

static uint64_t now_ns = 1000000000;

/* In the place of the system's. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    (void)id;
    now->tv_sec = (time_t)(now_ns / 1000000000);
    now->tv_nsec = (long)(now_ns % 1000000000);
    return 0;
}

/* ---- the transport ---- */

static drove_exchange under_way[DROVE_CHANNELS];
static uint64_t wait_ns, work_ns; /* of each exchange */
static unsigned n_sums, n_agreed; /* exchanges of vectors; of numbers */

static drove_status start(drove_transport *t, unsigned worker, const drove_exchange *x)
{
    (void)t, (void)worker;
    under_way[x->channel] = *x;
    return DROVE_OK;
}

static drove_status finish(drove_transport *t, unsigned worker, unsigned channel,
                           drove_exchange_info *info)
{
    const drove_exchange *x = &under_way[channel];
    (void)t, (void)worker;
    if (x->channel == DROVE_CHANNEL_SMALL) {
        assert_int_equal(x->n, 2);
        n_agreed++;
        return DROVE_OK;
    }
    n_sums++;
    memcpy(x->out, x->in, x->n * sizeof *x->out);
    info->wait_ns += wait_ns;
    info->work_ns += work_ns;
    return DROVE_OK;
}

static bool is_done(drove_transport *t, unsigned worker, unsigned channel)
{
    (void)t, (void)worker, (void)channel;
    return true;
}

static const drove_transport_ops ops = {
    .name = "alone", .start = start, .test = is_done, .finish = finish};

/* ---- the rig ---- */

static drove_transport transport;

static void open_rig(rig *r)
{
    n_sums = n_agreed = 0;
    transport = (drove_transport){.ops = &ops,
                                  .n_workers = P,
                                  .n_processes = P,
                                  .process = 1,
                                  .first_worker = 1,
                                  .n_here = 1,
                                  .kernels = &drovek_ref};
    rig_init_row(r, (rig_options){.ops = &drove__sync_local,
                                  .variant = "local",
                                  .lr = 0.25,
                                  .n = N,
                                  .n_workers = P,
                                  .period = "auto",
                                  .transport = &transport,
                                  .kernels = &drovek_ref});
}

/* Computes for so long. */
static void step(rig *r, uint64_t compute_ns)
{
    static const float g[N];
    drove_view view;
    drove_publish_info info;
    const drove_step step = {.value = g, .eta = 0.25f};
    assert_int_equal(r->sync->ops->acquire(r->sync, 1, &view), DROVE_OK);
    now_ns += compute_ns;
    drove__sync_release(r->sync, 1);
    assert_int_equal(r->sync->ops->publish(r->sync, 1, &step, &info), DROVE_OK);
    now_ns += 12345; /* time between two steps is neither's */
}

static uint64_t period_of(const rig *r)
{
    drove_elastic_facts facts;
    assert_true(drove__elastic_facts(r->sync, &facts));
    assert_true(facts.period_is_auto);
    return facts.period;
}

/* ---- tests ---- */

/* Exchanges are to take a tenth of the time: an exchange of E, steps of C: 9 E / C steps. */
TEST(exchanges_take_their_share_of_the_time)
{
    static const struct {
        uint64_t compute_ns, wait_ns, work_ns, period;
    } cases[] = {
        {9000, 490, 500, 1},
        {9000, 500, 510, 2},
        {9000, 1490, 500, 2},
        {4000, 1000, 2990, 9},
        {9000, 0, 1, 1},
        {9000, 0, 0, 1},
        {1000, 200000, 254900, 4095},
        {10, 20000, 20000, 4096}, /* the most */
        {0, 100, 100, 9},         /* nothing to compare with: as if both took as long */
    };
    for (unsigned k = 0; k < DROVE_COUNT(cases); k++) {
        rig r;
        open_rig(&r);
        wait_ns = cases[k].wait_ns;
        work_ns = cases[k].work_ns;
        for (unsigned i = 0; i < EXCHANGES; i++) {
            assert_int_equal(n_agreed, 0);
            assert_int_equal(period_of(&r), 1);
            step(&r, cases[k].compute_ns);
            assert_int_equal(n_sums, i + 1);
        }
        assert_int_equal(n_agreed, 1);
        assert_int_equal(period_of(&r), cases[k].period);
        rig_fini(&r);
    }
}

/* The next decision rests on what came since the last one alone. */
TEST(a_decision_forgets_what_was_before)
{
    rig r;
    open_rig(&r);
    wait_ns = 3900, work_ns = 0;
    for (unsigned i = 0; i < EXCHANGES; i++) step(&r, 9000);
    assert_int_equal(period_of(&r), 4);
    wait_ns = 900, work_ns = 2000;
    for (unsigned i = 0; i < 4 * EXCHANGES; i++) {
        assert_int_equal(period_of(&r), 4);
        step(&r, 9000);
    }
    assert_int_equal(n_sums, 2 * EXCHANGES);
    assert_int_equal(period_of(&r), 3);
    rig_fini(&r);
}

/* A run that goes on between two exchanges is judged by the saved mean until ranks park. */
TEST(a_restored_mean_is_what_is_judged)
{
    enum { MOST_TENSORS = 16 };
    rig r;
    float mean[N];
    drove_tensor all[MOST_TENSORS];
    open_rig(&r);
    const size_t n = r.sync->ops->tensors(r.sync, all, MOST_TENSORS);
    uint64_t progress[P * DROVE_ELASTIC_PROGRESS] = {0};
    for (unsigned w = 0; w < P; w++) /* three steps, one of them since the last exchange */
        memcpy(progress + (size_t)w * DROVE_ELASTIC_PROGRESS, (const uint64_t[]){3, 1, 3, 2, 0},
               DROVE_ELASTIC_PROGRESS * sizeof *progress);
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].name, "elastic.progress") == 0) all[i].bytes = progress;
    const drove_safetensors st = {.n_tensors = n, .tensor = all};
    for (size_t i = 0; i < N; i++) mean[i] = 7.0f - (float)i;
    assert_int_equal(drove__sync_restore(r.sync, 9, &(drove_params){.theta = mean}, &st), DROVE_OK);
    assert_memory_equal(r.sync->ops->peek(r.sync).theta, mean, sizeof mean);
    rig_fini(&r);
}
