/* Which buffers of a device keep a copy in bf16: those that products read, if each operation that
 * writes them keeps the copy.  Outputs and derivatives of layers without biases are written by
 * other operations, so a copy would stay that of an earlier batch. */
#include "engine/accel/state.h"
#include "unit/engine/accel_plain.h"
#include "unit/engine/accel_support.h"
#include "support/test.h"

#include "model/graph.h"

#include <stdio.h>

enum { MAX_ROWS = 16, MOST_KEPT = 32, N_DENSE = 3 };

static const drove_accel_buffer *kept[MOST_KEPT];
static unsigned n_kept;

static drove_status keep_in_bf16(drove_accel *a, drove_accel_buffer *buffer, bool keeps)
{
    (void)a;
    assert_true(keeps && buffer != NULL && n_kept < MOST_KEPT);
    kept[n_kept++] = buffer;
    return DROVE_OK;
}

static drove_status narrow(drove_accel_queue *q, drove_accel_view view, size_t n)
{
    (void)q, (void)view, (void)n;
    return DROVE_OK;
}

/* Three dense layers, of which bit l of without_bias says that l has none; between the first two a
 * layer without parameters. */
static drove_model *make_model(const accel_case *how, unsigned without_bias)
{
    static const char *const names[N_DENSE] = {"first", "second", "third"};
    const drove_model_io io = {.n_features = ACCEL_FEATURES, .n_classes = how->n_classes};
    drove_graph g;
    drove_node *n;
    drove_model *model;
    drove__graph_init(&g, "dense");
    for (unsigned l = 0; l < N_DENSE; l++) {
        const char *from = l == 0 ? NULL : l == 1 ? "dropped" : names[l - 1];
        assert_int_equal(drove__graph_add(&g, &drove__layer_dense, names[l], from, &n), DROVE_OK);
        n->opt.no_bias = without_bias >> l & 1;
        if (l + 1 < N_DENSE) n->opt.n_out = 9 - l;
        if (l == 0)
            assert_int_equal(drove__graph_add(&g, &drove__layer_dropout, "dropped", names[l], &n),
                             DROVE_OK);
    }
    if (drove__model_create_graph(&g, "dense", NULL, &io, &model) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    drove__graph_fini(&g);
    if (how->in_bf16) model->factors = DROVEK_FACTORS_BF16;
    return model;
}

static void assert_kept(const drove_accel_buffer *buffer, bool is_expected, const char *what)
{
    unsigned n = 0;
    for (unsigned i = 0; i < n_kept; i++) n += kept[i] == buffer;
    if (n != is_expected) fail_msg("%s: expected %d copies, found %u", what, is_expected, n);
}

static void check(const accel_case *how, drove_device *device, unsigned without_bias)
{
    const bool has_copies = how->in_bf16 && how->x_kind != DROVE_X_CSR;
    const bool in_bytes = how->x_kind == DROVE_X_U8, has_more = has_copies && without_bias == 0;
    accel_problem p;
    drove_engine *e;
    accel_setup(&p, how, NULL, MAX_ROWS);
    drove_model *own = make_model(how, without_bias);
    const drove_model *model = how->x_kind == DROVE_X_CSR ? p.model : own; /* a plain chain */
    const drove_engine_options opt = {.model = model,
                                      .kernels = &p.kernels,
                                      .data = &p.data,
                                      .max_rows = MAX_ROWS,
                                      .device = device};
    n_kept = 0;
    if (device->engine->create(&opt, &e) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_kept(e->params.theta, has_copies, "parameters");
    if (in_bytes) assert_kept(e->pass.wide, has_copies, "examples as floats");
    for (size_t i = 0; i < DROVE_ACCEL_N_STAGINGS; i++)
        assert_kept(e->staging[i].device, has_copies && !in_bytes, "examples");
    for (size_t l = 0; l < model->n_layers; l++)
        assert_kept(e->pass.out[l], has_more && model->layer[l].ops == &drove__layer_dense,
                    "outputs");
    for (size_t i = 0; i < e->pass.plan.n_deltas; i++)
        assert_kept(e->pass.delta[i], has_more, "derivatives");
    const unsigned n_more = has_more ? N_DENSE + (unsigned)e->pass.plan.n_deltas : 0;
    assert_int_equal(n_kept, has_copies ? (in_bytes ? 2 : 3) + n_more : 0);
    device->engine->destroy(e);
    drove__model_destroy(own);
    accel_teardown(&p);
}

TEST(copies_are_kept_where_they_stay_true)
{
    drove_device *device = accel_plain_open();
    drove_accel_device *impl = device->impl;
    drove_accel_ops ops = *impl->ops;
    ops.bf16 = &(const drove_accel_bf16_ops){.keep = keep_in_bf16, .narrow = narrow};
    impl->ops = &ops;
    accel_case bytes = accel_case_dense, sparse = accel_case_sparse;
    for (unsigned without_bias = 0; without_bias < 1u << N_DENSE; without_bias++) {
        for (unsigned in_bf16 = 0; in_bf16 < 2; in_bf16++) {
            bytes.in_bf16 = sparse.in_bf16 = in_bf16;
            accel_case floats = bytes;
            floats.x_kind = DROVE_X_F32;
            check(&bytes, device, without_bias);
            check(&floats, device, without_bias);
            if (without_bias == 0) check(&sparse, device, without_bias);
        }
    }
    drove__device_close(device);
}
