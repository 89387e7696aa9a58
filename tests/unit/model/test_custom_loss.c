/* A loss of the program's own: what its outputs mean, the calls that its function gets, and the
 * sums that are made of its losses, against sums of this file; the object that holds it; and what a
 * layer of the program's own says of its shape. */
#include "model/custom.h"
#include "support/test.h"

#include "base/mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- the number of outputs ---- */

TEST(outputs_follow_from_the_data)
{
    static const struct {
        drove_outputs outputs;
        int has_one;
        size_t n_classes, n_values;
        int is_multi_label;
        size_t n_outputs;
        const char *why;
    } cases[] = {
        {DROVE_OUTPUTS_PLAIN, 1, 2, 0, 0, 1, NULL},
        {DROVE_OUTPUTS_SIGMOID, 1, 2, 0, 0, 1, NULL},
        {DROVE_OUTPUTS_PLAIN, 1, 3, 0, 0, 0, "exactly two classes"},
        {DROVE_OUTPUTS_PLAIN, 1, 2, 0, 1, 0, "exactly two classes"},
        {DROVE_OUTPUTS_PLAIN, 1, 0, 2, 0, 0, "exactly two classes"},
        {DROVE_OUTPUTS_SOFTMAX, 0, 2, 0, 0, 2, NULL},
        {DROVE_OUTPUTS_SOFTMAX, 0, 7, 0, 0, 7, NULL},
        {DROVE_OUTPUTS_SOFTMAX, 0, 1, 0, 0, 0, "at least two classes"},
        {DROVE_OUTPUTS_SOFTMAX, 0, 7, 0, 1, 0, "at least two classes"},
        {DROVE_OUTPUTS_SOFTMAX, 0, 0, 3, 0, 0, "at least two classes"},
        {DROVE_OUTPUTS_SIGMOID, 0, 7, 0, 1, 7, NULL},
        {DROVE_OUTPUTS_SIGMOID, 0, 7, 0, 0, 0, "which needs labels"},
        {DROVE_OUTPUTS_SIGMOID, 0, 0, 3, 0, 0, "which needs labels"},
        {DROVE_OUTPUTS_PLAIN, 0, 7, 0, 0, 7, NULL},
        {DROVE_OUTPUTS_PLAIN, 0, 7, 0, 1, 7, NULL},
        {DROVE_OUTPUTS_PLAIN, 0, 0, 3, 0, 3, NULL},
        {DROVE_OUTPUTS_PLAIN, 0, 0, 0, 0, 1, NULL},
    };
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        drove_custom custom = {
            .loss = {.outputs = cases[c].outputs, .has_one_output = cases[c].has_one}};
        drove_loss_ops ops;
        const drove_model_io io = {.n_features = 5,
                                   .n_classes = cases[c].n_classes,
                                   .n_values = cases[c].n_values,
                                   .is_multi_label = cases[c].is_multi_label};
        const char *why = NULL;
        drove__custom_loss_init(&custom, &ops);
        assert_int_equal(drove__custom_outputs(&ops, &io, &why), cases[c].n_outputs);
        if (cases[c].why != NULL) assert_non_null(strstr(why, cases[c].why));
    }
}

/* Predictions are those of the built-in loss with the same meaning. */
TEST(outputs_are_predicted_by_their_meaning)
{
    static const struct {
        drove_outputs outputs;
        const drove_loss_ops *like;
        bool gives_probability;
    } cases[] = {{DROVE_OUTPUTS_PLAIN, &drove__loss_squared, false},
                 {DROVE_OUTPUTS_SIGMOID, &drove__loss_sigmoid, true},
                 {DROVE_OUTPUTS_SOFTMAX, &drove__loss_softmax, true}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        drove_custom custom = {.loss_name = "own", .loss = {.outputs = cases[c].outputs}};
        drove_loss_ops ops;
        drove__custom_loss_init(&custom, &ops);
        assert_ptr_equal(ops.predict, cases[c].like->predict);
        assert_int_equal(ops.gives_probability, cases[c].gives_probability);
        assert_string_equal(ops.name, "own");
        assert_ptr_equal(ops.custom, &custom.loss);
    }
}

TEST(words_of_saved_models_are_read_back)
{
    static const char *const words[] = {"plain",     "plain:1", "sigmoid",
                                        "sigmoid:1", "softmax", "softmax:1"};
    for (unsigned w = 0; w < DROVE_COUNT(words); w++) {
        drove_custom custom = {0};
        char text[32];
        assert_int_equal(drove__custom_absent_loss("huber", words[w], &custom), DROVE_OK);
        assert_true(custom.has_loss);
        assert_string_equal(custom.loss_name, "huber");
        assert_int_equal(custom.loss.outputs, w / 2);
        assert_int_equal(custom.loss.has_one_output, w % 2);
        drove__custom_outputs_print(&custom.loss, text);
        assert_string_equal(text, words[w]);
        char why[128] = "";
        const drove_loss_batch batch = {.why = why, .why_size = sizeof why};
        assert_int_equal(custom.loss.eval(NULL, &batch), DROVE_E_UNSUPPORTED);
        assert_non_null(strstr(why, "the program's own function of this name"));
    }
    static const char *const wrong[] = {"",       "plai", "plains",    "plain:2",
                                        "plain:", ":1",   "softmax:11"};
    for (unsigned w = 0; w < DROVE_COUNT(wrong); w++) {
        drove_custom custom = {0};
        assert_int_equal(drove__custom_absent_loss("huber", wrong[w], &custom), DROVE_E_DATA);
        assert_false(custom.has_loss);
        assert_non_null(strstr(drove_error_text(), "\"loss_outputs\""));
    }
    drove_custom custom = {0};
    char name[sizeof custom.loss_name + 1];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0'; /* no room for its end */
    assert_int_equal(drove__custom_absent_loss(name, "plain", &custom), DROVE_E_DATA);
    name[sizeof name - 2] = '\0';
    assert_int_equal(drove__custom_absent_loss(name, "plain", &custom), DROVE_OK);
    assert_string_equal(custom.loss_name, name);
}

/* ---- calls ---- */

enum { ROWS = DROVE_LOSS_ROWS + 3, MOST_OUTPUTS = 3 };

static float z[ROWS * MOST_OUTPUTS], dz[ROWS * MOST_OUTPUTS], weights[ROWS];
static int32_t class_of[ROWS];
static uint64_t label_first[ROWS], label_last[ROWS];
static uint32_t label[2 * ROWS];
static size_t n_calls, n_rows_of[4], fails_at; /* the call that fails; 0: none */
static bool wants_derivative;

/* Output o of row i is +-(i % 5 + o + 1); its loss is i % 7 + 1; its derivative i % 3 + o. */
static drove_status eval(void *context, const drove_loss_batch *b)
{
    assert_ptr_equal(context, &fails_at);
    assert_true(n_calls < 4);
    n_rows_of[n_calls++] = b->n_rows;
    if (n_calls == fails_at) {
        snprintf(b->why, b->why_size, "too steep\nand more");
        return DROVE_E_NONFINITE;
    }
    const size_t first = (size_t)(b->outputs - z) / b->n_outputs;
    assert_int_equal(b->derivative != NULL, wants_derivative);
    for (size_t i = 0; i < b->n_rows; i++) {
        const size_t row = first + i;
        b->loss[i] = (float)(row % 7 + 1);
        for (size_t o = 0; wants_derivative && o < b->n_outputs; o++)
            b->derivative[i * b->n_outputs + o] = (float)(row % 3 + o);
        if (b->class_of != NULL) assert_int_equal(b->class_of[i], class_of[row]);
        if (b->label_first != NULL) assert_int_equal(b->label_first[i], label_first[row]);
        if (b->label_last != NULL) assert_int_equal(b->label_last[i], label_last[row]);
        if (b->label != NULL) assert_ptr_equal(b->label, label);
    }
    return DROVE_OK;
}

typedef struct rig {
    drove_custom custom;
    drove_kinds kinds;
    drove_model model;
    drove_pass pass;
    drove_score score;
} rig;

static void init(rig *r, size_t n_outputs)
{
    memset(r, 0, sizeof *r);
    strcpy(r->custom.loss_name, "steep");
    r->custom.loss = (drove_custom_loss){.context = &fails_at, .eval = eval};
    drove__custom_loss_init(&r->custom, &r->kinds.loss);
    r->model.kinds = &r->kinds;
    r->model.loss = &r->kinds.loss;
    r->model.n_outputs = n_outputs;
    r->pass.model = &r->model;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t o = 0; o < n_outputs; o++)
            z[i * n_outputs + o] = ((i >> o) & 1 ? 1.0f : -1.0f) * (float)(i % 5 + o + 1);
        class_of[i] = (int32_t)(i % (n_outputs > 1 ? n_outputs : 2));
        weights[i] = (float)(i % 4);
        label_first[i] = 2 * i;
        label_last[i] = 2 * i + i % 3; /* none, label 0, or 0 and 2 */
        label[2 * i] = 0;
        label[2 * i + 1] = 2;
    }
    n_calls = 0;
    fails_at = 0;
    wants_derivative = true;
}

static void check_calls(void)
{
    assert_int_equal(n_calls, 2);
    assert_int_equal(n_rows_of[0], DROVE_LOSS_ROWS);
    assert_int_equal(n_rows_of[1], 3);
}

TEST(losses_are_weighed_and_scaled)
{
    for (int is_weighted = 0; is_weighted < 2; is_weighted++) {
        for (size_t n = 1; n <= MOST_OUTPUTS; n++) {
            rig r;
            init(&r, n);
            const drove_target t = {.y_class = class_of, .weight = is_weighted ? weights : NULL};
            drove__custom_loss_eval(&r.model, &t, ROWS, z, 0.5f, dz, &r.pass, &r.score);
            check_calls();
            double loss = 0, n_correct = 0;
            for (size_t i = 0; i < ROWS; i++) {
                const float weight = is_weighted ? weights[i] : 1.0f;
                size_t best = 0;
                for (size_t o = 1; o < n; o++)
                    if (z[i * n + o] > z[i * n + best]) best = o;
                if (n == 1) best = z[i] > 0.0f;
                loss += (double)weight * (double)(i % 7 + 1);
                n_correct += best == (size_t)class_of[i] ? (double)weight : 0.0;
                for (size_t o = 0; o < n; o++)
                    assert_true(dz[i * n + o] == 0.5f * weight * (float)(i % 3 + o));
            }
            assert_true(r.score.loss == loss);
            assert_true(r.score.n_correct == n_correct);
            assert_true(r.score.true_positive == 0 && r.score.false_positive == 0);
        }
    }
}

TEST(a_loss_alone_wants_no_derivative)
{
    rig r;
    init(&r, 2);
    wants_derivative = false;
    static float value[ROWS * 2];
    const drove_target t = {.y_value = value};
    drove__custom_loss_eval(&r.model, &t, ROWS, z, 1.0f, NULL, &r.pass, &r.score);
    check_calls();
    assert_true(r.score.loss > 0 && r.score.n_correct == 0); /* of values none is right */
}

TEST(labels_are_counted)
{
    rig r;
    init(&r, 3);
    const drove_target t = {
        .label_first = label_first, .label_last = label_last, .label = label, .weight = weights};
    drove__custom_loss_eval(&r.model, &t, ROWS, z, 1.0f, dz, &r.pass, &r.score);
    check_calls();
    double hit = 0, wrong = 0, missed = 0;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t o = 0; o < 3; o++) {
            const bool is_true = (o == 0 && i % 3 >= 1) || (o == 2 && i % 3 == 2);
            const bool is_found = (i >> o) & 1;
            hit += is_true && is_found ? (double)weights[i] : 0;
            wrong += !is_true && is_found ? (double)weights[i] : 0;
            missed += is_true && !is_found ? (double)weights[i] : 0;
        }
    }
    assert_true(r.score.true_positive == hit);
    assert_true(r.score.false_positive == wrong);
    assert_true(r.score.false_negative == missed);
    assert_true(r.score.n_correct == 0);
}

TEST(a_failure_ends_the_calls)
{
    for (size_t at = 1; at <= 2; at++) {
        rig r;
        init(&r, 2);
        fails_at = at;
        const drove_target t = {.y_class = class_of};
        assert_false(drove__custom_has_failed(&r.model));
        drove__custom_loss_eval(&r.model, &t, ROWS, z, 1.0f, dz, &r.pass, &r.score);
        assert_int_equal(n_calls, at);
        assert_true(drove__custom_has_failed(&r.model));
        assert_int_equal(drove__pass_outcome(&r.pass), DROVE_E_NONFINITE);
        assert_string_equal(drove_error_text(), "loss steep: too steep");
        assert_int_equal(drove__pass_outcome(&r.pass), DROVE_OK); /* told once */
    }
    const drove_model plain = {0};
    assert_false(drove__custom_has_failed(&plain));
}

/* A status that is none of drove's is a failure all the same; the first one of a pass is told. */
TEST(failures_have_a_name)
{
    static const struct {
        int status;
        const char *why;
        drove_status told;
        const char *text;
    } cases[] = {{DROVE_E_NOMEM, "", DROVE_E_NOMEM,
                  "layer l: its function failed with DROVE_E_NOMEM"},
                 {DROVE_E_SYSTEM, "no", DROVE_E_SYSTEM, "layer l: no"},
                 {DROVE_OK, "no", DROVE_E_SYSTEM, "layer l: no"},
                 {-3, "no\rway", DROVE_E_SYSTEM, "layer l: no"},
                 {DROVE_E_SYSTEM + 1, "no", DROVE_E_SYSTEM, "layer l: no"}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        rig r;
        init(&r, 2);
        const drove_status given = (drove_status)cases[c].status;
        assert_int_equal(drove__custom_fail_now("layer", "l", given, cases[c].why), cases[c].told);
        assert_string_equal(drove_error_text(), cases[c].text);
        drove__custom_fail(&r.pass, "layer", "l", given, cases[c].why);
        drove__custom_fail(&r.pass, "layer", "later", DROVE_E_ARG, "another");
        assert_int_equal(drove__pass_outcome(&r.pass), cases[c].told);
        assert_string_equal(drove_error_text(), cases[c].text);
    }
    char why[1000];
    memset(why, 'x', sizeof why);
    why[sizeof why - 1] = '\0';
    (void)drove__custom_fail_now("layer", "l", DROVE_E_ARG, why);
    assert_int_equal(strlen(drove_error_text()), strlen("layer l: ") + 800);
}

/* ---- the object ---- */

TEST(it_is_there_until_its_last_user_goes)
{
    drove_custom custom = {0};
    drove_kinds *k = (drove_kinds *)&custom;
    assert_int_equal(drove__kinds_create(NULL, &k), DROVE_OK);
    assert_null(k);
    k = (drove_kinds *)&custom;
    assert_int_equal(drove__kinds_create(&custom, &k), DROVE_OK);
    assert_null(k);
    assert_null(drove__kinds_keep(NULL));
    drove__kinds_release(NULL);
    custom.n_layers = 2;
    strcpy(custom.layer_name[0], "first");
    strcpy(custom.layer_name[1], "second");
    assert_int_equal(drove__kinds_create(&custom, &k), DROVE_OK);
    assert_string_equal(k->layer[0].name, "first");
    assert_string_equal(k->layer[1].name, "second");
    assert_ptr_equal(k->layer[1].custom, &k->given.layer[1]);
    assert_null(k->loss.name);
    assert_ptr_equal(drove__kinds_keep(k), k);
    assert_int_equal(k->n_users, 2);
    drove__kinds_release(k);
    assert_int_equal(k->n_users, 1); /* still there */
    drove__kinds_release(k);
    custom.n_layers = 0;
    custom.has_loss = true;
    strcpy(custom.loss_name, "own");
    assert_int_equal(drove__kinds_create(&custom, &k), DROVE_OK);
    assert_string_equal(k->loss.name, "own");
    drove__kinds_release(k);
}

/* ---- a layer's shape ---- */

static drove_layer_shape shape_out;
static size_t n_parameters;
static drove_status shape_answer;

static drove_status shape(void *context, drove_layer_sizes *sizes, char *why, size_t why_size)
{
    assert_ptr_equal(context, &shape_out);
    assert_int_equal(sizes->in.channels, 3);
    assert_int_equal(sizes->in.height, 4);
    assert_int_equal(sizes->in.width, 5);
    assert_int_equal(sizes->units, 17);
    sizes->out = shape_out;
    sizes->n_parameters = n_parameters;
    if (shape_answer != DROVE_OK) snprintf(why, why_size, "not square");
    return shape_answer;
}

static drove_status start(void *context, const drove_layer_sizes *sizes, uint64_t seed,
                          float *parameters, char *why, size_t why_size)
{
    assert_ptr_equal(context, &shape_out);
    assert_int_equal(sizes->n_parameters, 9);
    assert_int_equal(sizes->out.width, 2);
    if (seed == 99) {
        snprintf(why, why_size, "unlucky");
        return DROVE_E_ARG;
    }
    parameters[0] = (float)seed;
    return DROVE_OK;
}

TEST(a_layers_shape_is_the_programs)
{
    static const drove_shape in = {3, 4, 5};
    static const drove_layer_shape outs[] = {{6, 7, 2}, {0, 7, 2}, {6, 0, 2}, {6, 7, 0}};
    drove_custom custom = {.n_layers = 1, .layer_name = {"bent"}};
    drove_layer_ops ops;
    custom.layer[0] = (drove_custom_layer){.context = &shape_out, .shape = shape, .start = start};
    drove__custom_layer_init(&custom, 0, &ops);
    assert_string_equal(ops.name, "bent");
    for (size_t i = 0; i < DROVE_COUNT(outs); i++) {
        drove_layer l = {.ops = &ops, .opt = {.n_out = 17}};
        shape_out = outs[i];
        n_parameters = 9;
        if (i > 0) {
            assert_int_equal(ops.shape(&l, &in, 1, 0), DROVE_E_ARG);
            assert_non_null(
                strstr(drove_error_text(), "layer bent: expected an output of 1 x 1 x 1"));
            continue;
        }
        assert_int_equal(ops.shape(&l, &in, 1, 0), DROVE_OK);
        assert_int_equal(l.in.w, 5);
        assert_int_equal(l.out.c, 6);
        assert_int_equal(l.out.h, 7);
        assert_int_equal(l.out.w, 2);
        assert_int_equal(l.n_w, 9);
        assert_int_equal(l.w_rank, 1);
        assert_int_equal(l.w_shape[0], 9);
        float first = 0;
        assert_int_equal(drove__custom_layer_start(&l, 7, &first), DROVE_OK);
        assert_true(first == 7);
        assert_int_equal(drove__custom_layer_start(&l, 99, &first), DROVE_E_ARG);
        assert_string_equal(drove_error_text(), "layer bent: unlucky");
        custom.layer[0].start = NULL;
        assert_int_equal(drove__custom_layer_start(&l, 99, &first), DROVE_OK);
        assert_true(first == 7);
    }
    drove_layer l = {.ops = &ops, .opt = {.n_out = 17}};
    shape_out = outs[0];
    n_parameters = SIZE_MAX / 4096;
    assert_int_equal(ops.shape(&l, &in, 1, 0), DROVE_OK);
    n_parameters++;
    assert_int_equal(ops.shape(&l, &in, 1, 0), DROVE_E_ARG);
    shape_answer = DROVE_E_SHAPE;
    assert_int_equal(ops.shape(&l, &in, 1, 0), DROVE_E_SHAPE);
    assert_string_equal(drove_error_text(), "layer bent: not square");
    shape_answer = DROVE_OK;
}

/* Derivatives are added in memory of the layer's own, where another layer has written its own. */
TEST(scratch_is_for_derivatives_that_are_added)
{
    drove_custom custom = {.n_layers = 1, .layer_name = {"bent"}};
    drove_layer_ops ops;
    drove__custom_layer_init(&custom, 0, &ops);
    drove_layer l = {.ops = &ops, .n_in = 7};
    const drove_model m = {.n_layers = 1, .layer = &l};
    drove_pass_options opt = {.model = &m, .max_rows = 5, .trains = true};
    void *own = NULL;
    assert_int_equal(ops.scratch_bytes(&opt, &l), 0);
    assert_int_equal(ops.prepare(&opt, NULL, 0, &own), DROVE_OK);
    assert_null(own);
    l.adds[0] = true;
    assert_int_equal(ops.scratch_bytes(&opt, &l), 5 * 7 * sizeof(float));
    assert_int_equal(ops.prepare(&opt, NULL, 0, &own), DROVE_OK);
    assert_non_null(own);
    memset(own, 1, 5 * 7 * sizeof(float));
    ops.release(own);
    opt.trains = false;
    assert_int_equal(ops.scratch_bytes(&opt, &l), 0);
    drovek_format want = DROVEK_NCHW, out = DROVEK_NCHW;
    assert_int_equal(ops.formats(&opt, &l, NULL, &want, &out), DROVE_OK);
    assert_int_equal(want, DROVEK_NHWC);
    assert_int_equal(out, DROVEK_NHWC);
}
