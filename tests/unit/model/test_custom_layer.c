/* A layer of the program's own whose functions fail: the pass ends with their status and text, in
 * forward and in backward; where they do not, derivatives are added to those that are there.
 */
#include "model/custom.h"
#include "support/test.h"

#include "base/mem.h"
#include "model/graph_keys.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 3, N_IN = 2 };

static drove_status answer;

static drove_status twice(void *context, const drove_layer_batch *b)
{
    (void)context;
    for (size_t i = 0; i < b->n_rows * N_IN; i++) b->y[i] = 2.0f * b->x[i];
    if (answer != DROVE_OK) snprintf(b->why, b->why_size, "no luck\nat all");
    return answer;
}

static drove_status twice_back(void *context, const drove_layer_batch *b)
{
    (void)context;
    for (size_t i = 0; i < b->n_rows * N_IN; i++) b->dx[i] = 2.0f * b->dy[i];
    return answer;
}

typedef struct rig {
    drove_kinds kinds;
    drove_model model;
    drove_pass pass;
    drove_layer_ops ops;
    drove_layer layer;
    drovek_table kernels;
    drove_bottom bottom;
    float x[ROWS * N_IN], y[ROWS * N_IN], dx[ROWS * N_IN], dy[ROWS * N_IN], own[ROWS * N_IN];
    drove_call call;
} rig;

static void init(rig *r)
{
    static drove_custom custom;
    memset(r, 0, sizeof *r);
    custom.n_layers = 1;
    strcpy(custom.layer_name[0], "twice");
    custom.layer[0] = (drove_custom_layer){.forward = twice, .backward = twice_back};
    assert_int_equal(drovek_select(&r->kernels, 0, "ref"), DROVE_OK);
    drove__custom_layer_init(&custom, 0, &r->ops);
    r->model.kinds = &r->kinds;
    r->pass.model = &r->model;
    r->layer.ops = &r->ops;
    r->layer.n_in = r->layer.n_out = N_IN;
    for (int i = 0; i < ROWS * N_IN; i++) {
        r->x[i] = (float)i;
        r->dy[i] = (float)(10 + i);
        r->dx[i] = 100.0f;
    }
    r->bottom = (drove_bottom){.x = r->x, .dx = r->dx};
    r->call = (drove_call){.layer = &r->layer,
                           .k = &r->kernels,
                           .theta = r->own, /* it has no parameters */
                           .grad = r->own,
                           .pass = &r->pass,
                           .own = r->own,
                           .n_rows = ROWS,
                           .n_parts = 1,
                           .last_row = ROWS,
                           .bottom = &r->bottom,
                           .y = r->y,
                           .dy = r->dy};
    answer = DROVE_OK;
}

static void is_named(rig *r, drove_status status, const char *text)
{
    assert_int_equal(atomic_load(&r->kinds.has_failed), 1);
    assert_int_equal(drove__pass_outcome(&r->pass), status);
    assert_string_equal(drove_error_text(), text);
    assert_int_equal(drove__pass_outcome(&r->pass), DROVE_OK); /* it is said once */
}

TEST(a_failure_is_the_outcome_of_the_pass)
{
    static rig r;
    init(&r);
    answer = DROVE_E_DATA;
    r.ops.forward(&r.call);
    is_named(&r, DROVE_E_DATA, "layer twice: no luck");
    init(&r);
    answer = DROVE_E_IO;
    r.ops.backward(&r.call);
    is_named(&r, DROVE_E_IO, "layer twice: its function failed with DROVE_E_IO");
}

TEST(derivatives_are_written_or_added)
{
    static rig r;
    for (int adds = 0; adds < 2; adds++) {
        init(&r);
        r.bottom.adds = adds;
        r.ops.forward(&r.call);
        r.ops.backward(&r.call);
        assert_int_equal(drove__pass_outcome(&r.pass), DROVE_OK);
        assert_int_equal(atomic_load(&r.kinds.has_failed), 0);
        for (int i = 0; i < ROWS * N_IN; i++) {
            assert_true(r.y[i] == 2.0f * (float)i);
            assert_true(r.dx[i] == (adds ? 100.0f : 0.0f) + 2.0f * (float)(10 + i));
        }
    }
    init(&r); /* of a part that is not the first, nothing */
    r.call.part = 1;
    r.ops.backward(&r.call);
    assert_true(r.dx[0] == 100.0f);
}

/* Two layers of the program's own, found by their names beside drove's. */
TEST(each_is_found_by_its_name)
{
    drove_custom custom = {.n_layers = 2, .layer_name = {"twice", "thrice"}};
    const drove_layer_ops *found = NULL;
    drove_kinds *kinds;
    for (unsigned i = 0; i < 2; i++)
        custom.layer[i] = (drove_custom_layer){.forward = twice, .backward = twice_back};
    assert_int_equal(drove__kinds_create(&custom, &kinds), DROVE_OK);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(drove__graph_find_kind(custom.layer_name[i], kinds, &found), DROVE_OK);
        assert_ptr_equal(found, &kinds->layer[i]);
    }
    assert_int_equal(drove__graph_find_kind("dense", kinds, &found), DROVE_OK);
    assert_string_equal(found->name, "dense");
    assert_int_equal(drove__graph_find_kind("thrise", kinds, &found), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "did you mean \"thrice\""));
    drove__kinds_release(kinds);
}
