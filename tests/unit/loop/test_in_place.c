/* When a worker's steps go straight into shared parameters: each condition alone can prevent it. */
#include "loop/step.h"
#include "support/test.h"

#include "loop/worker.h"
#include "model/layer.h"

#include <string.h>

static drove_params live(drove_sync *s, unsigned worker)
{
    (void)s, (void)worker;
    return (drove_params){0};
}

static const drove_sync_live_ops lends = {.begin = live};
static const drove_sync_ops strategy = {.name = "with"};

typedef struct rig {
    drove_plan plan;
    drove_plan_worker place;
    drove_source_ops source_ops;
    drove_source source;
    drove_sync sync;
    drove_optim optim;
    drove_engine_ops engine;
    drove_model model;
    drove_layer layer;
    drove_layer_ops layer_ops;
    drove_loop loop;
    drove_worker worker;
    drove_storage storage;
    drove_data data;
    char address; /* of what is not looked at */
} rig;

static void fuse(const drove_call *c, float *theta, float *db, float eta)
{
    (void)c, (void)theta, (void)db, (void)eta;
}

/* Of more examples than this the bits would differ. */
enum { MOST_EXACT = 7 };

static bool fuses_exactly(const drove_layer *l, size_t n_rows)
{
    (void)l;
    return n_rows <= MOST_EXACT;
}

/* All conditions hold: batches of one example. */
static void open_rig(rig *r)
{
    memset(r, 0, sizeof *r);
    r->place.n_cores = 1;
    r->plan.source = &r->source_ops;
    r->sync.ops = &strategy;
    r->sync.live = &lends;
    r->optim.fusable = true;
    r->engine.can = DROVE_ENGINE_FUSED;
    r->layer_ops.backward_fused = fuse;
    r->layer_ops.fuses_exactly = fuses_exactly;
    r->layer.ops = &r->layer_ops;
    r->model.n_layers = 1;
    r->model.layer = &r->layer;
    r->loop.plan = &r->plan;
    r->loop.sync = &r->sync;
    r->loop.source = &r->source;
    r->loop.optim = &r->optim;
    r->loop.model = &r->model;
    r->loop.sizes.update_rows = 1;
    r->worker.loop = &r->loop;
    r->worker.plan = &r->place;
    r->worker.engine_ops = &r->engine;
    r->plan.n_workers = 1;
    r->storage.x_kind = DROVE_X_F32;
    r->data.storage = &r->storage;
    r->worker.data = &r->data;
}

TEST(each_condition_is_needed)
{
    rig r;
    open_rig(&r);
    assert_true(drove__steps_in_place(&r.worker, 1));
    r.loop.source = NULL; /* as outside a run */
    assert_true(drove__steps_in_place(&r.worker, 1));
    for (unsigned broken = 0; broken < 8; broken++) {
        open_rig(&r);
        switch (broken) {
        case 0: r.loop.on = (drove_virtual *)&r.address; break;
        case 1: r.sync.live = NULL; break;
        case 2: r.source.publishes = true; break;
        case 3: r.engine.can = 0; break;
        case 4: r.place.n_cores = 2; break;
        case 5: r.optim.fusable = false; break;
        case 6: r.loop.sizes.update_rows = 2; break;
        case 7: r.layer_ops.backward_fused = NULL; break;
        }
        if (drove__steps_in_place(&r.worker, 1)) fail_msg("condition %u does not count", broken);
        r.loop.shared = (drove_engine_shared *)&r.address; /* whose engines know no other way */
        assert_true(drove__steps_in_place(&r.worker, 1));
    }
}

/* One example: of the usual batch, or of this one where a source counts rows.  A strategy that
 * lives on it takes any number. */
TEST(the_number_of_examples_is_the_sources)
{
    for (unsigned k = 0; k < 16; k++) {
        const bool counts = k & 1, lives = k & 8;
        const unsigned usual = k & 2 ? 2 : 1, this = k & 4 ? 2 : 1;
        rig r;
        open_rig(&r);
        r.source_ops.counts_rows = counts;
        r.loop.sizes.update_rows = usual;
        r.sync.needs = lives ? DROVE_SYNC_LIVE : 0;
        assert_int_equal(drove__steps_in_place(&r.worker, this),
                         lives || (counts ? this : usual) == 1);
    }
}

/* One worker alone, with batches of several examples. */
TEST(one_worker_steps_in_place_where_nobody_sees_it)
{
    rig r;
    open_rig(&r);
    r.loop.sizes.update_rows = MOST_EXACT;
    assert_false(drove__steps_in_place(&r.worker, MOST_EXACT));
    assert_true(drove__steps_unseen(&r.worker, MOST_EXACT));
    assert_false(drove__steps_unseen(&r.worker, MOST_EXACT + 1));
    for (unsigned broken = 0; broken < 8; broken++) {
        open_rig(&r);
        switch (broken) {
        case 0: r.plan.n_workers = 2; break;
        case 1: r.loop.trace.recording = (drove_recording *)&r.address; break;
        case 2: r.loop.trace.spans = (drove_spans *)&r.address; break;
        case 3: r.loop.trace.measures_gradients = true; break;
        case 4: r.storage.x_kind = DROVE_X_CSR; break;
        case 5: r.model.factors = DROVEK_FACTORS_BF16; break;
        case 6: r.sync.live = NULL; break;
        case 7: r.layer_ops.backward_fused = NULL; break;
        }
        if (drove__steps_unseen(&r.worker, MOST_EXACT))
            fail_msg("condition %u does not count", broken);
    }
}
