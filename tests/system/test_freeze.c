/* Networks of which a part is trained: what is frozen keeps every bit, with all strategies and
 * rules, whether its outputs are kept or computed with each batch; new heads; runs that go on;
 * trainers.
 * ctest: slow: trains with every strategy of the registry */
#include "system/run_support.h"
#include "support/status.h"
#include "support/test.h"

#include "config/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA  "synth:images?n=96&n_test=48&size=8&classes=4&scale=unit-mean"
#define OTHER "synth:images?n=96&n_test=48&size=8&classes=2&seed=5&scale=unit-mean"

static const char network[] =
    "layers:\n"
    "  - {name: c1, type: convolution, channels: 8, kernel: 3, pad: 1}\n"
    "  - {name: b1, type: batch_norm, activation: relu}\n"
    "  - {name: c2, type: convolution, channels: 8, kernel: 3, pad: 1, bias: false}\n"
    "  - {name: b2, type: batch_norm}\n"
    "  - {name: both, type: sum, inputs: [b1, b2], activation: relu}\n"
    "  - {name: pool, type: max_pool, kernel: 2, stride: 2}\n"
    "  - {name: fc1, type: dense, units: 12, activation: relu}\n"
    "  - {name: last, type: dense}\n";

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static drove_options images_run(const char *model)
{
    drove_options opt = small_run();
    set(&opt, "data", DATA);
    set(&opt, "test", "none");
    set(&opt, "model", model);
    set(&opt, "until", "epochs=2");
    set(&opt, "lr", "0.02");
    return opt;
}

/* The folder of a network that was trained for an epoch. */
FIXTURE(make_start)
{
    (void)state;
    write_file("net.yaml", network);
    drove_options opt = images_run("net.yaml");
    set(&opt, "until", "epochs=1");
    set(&opt, "out", fresh_folder("start"));
    run_to(&opt, DROVE_FINISHED);
    return 0;
}

GROUP(make_start, NULL);

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

typedef struct counts {
    size_t n_frozen, n_moved;   /* numbers of frozen layers, statistics included; of them other */
    size_t n_trained, n_others; /* of all other layers */
} counts;

/* Layers that both models have in one size. */
static counts compare(const char *folder, const char *other, const char *const *frozen)
{
    drove_modelfile a, b;
    counts c = {0};
    load_model(folder, "model.safetensors", &a);
    load_model(other, "model.safetensors", &b);
    assert_int_equal(a.model->n_layers, b.model->n_layers);
    for (size_t l = 0; l < a.model->n_layers; l++) {
        const drove_layer *x = &a.model->layer[l], *y = &b.model->layer[l];
        const bool is_frozen = is_one_of(x->name, frozen);
        const size_t of_x[] = {x->w_offset, x->b_offset, x->s_offset};
        const size_t of_y[] = {y->w_offset, y->b_offset, y->s_offset};
        const size_t n[] = {x->n_w, x->n_b, x->n_statistics};
        if (x->n_w != y->n_w) continue;
        for (size_t k = 0; k < 3; k++) {
            for (size_t i = 0; i < n[k]; i++) {
                const bool is_other =
                    memcmp(&a.theta[of_x[k] + i], &b.theta[of_y[k] + i], sizeof(float)) != 0;
                c.n_frozen += is_frozen;
                c.n_moved += is_frozen && is_other;
                c.n_trained += !is_frozen;
                c.n_others += !is_frozen && is_other;
            }
        }
    }
    drove__modelfile_fini(&a);
    drove__modelfile_fini(&b);
    return c;
}

/* ---- every strategy ---- */

static const struct {
    const char *freeze, *data;
    const char *names[9];
    size_t n_frozen;
} cases[] = {
    /* kept: the head alone is trained, from vectors; a part of images is */
    {"body", DATA, {"c1", "b1", "c2", "b2", "fc1"}, 224 + 32 + 576 + 32 + 1548},
    {"c1,b1", DATA, {"c1", "b1"}, 224 + 32},
    /* computed with each batch: other images each time; layers above trained ones */
    {"c*,b1,b2", DATA "&mirror=1", {"c1", "b1", "c2", "b2"}, 224 + 32 + 576 + 32},
    {"b2,fc1", DATA, {"b2", "fc1"}, 32 + 1548},
};

static const char *rule_for(const char *strategy)
{
    return strncmp(strategy, "measgd", 6) == 0 || strncmp(strategy, "pmsgd", 5) == 0
               ? "momentum:0.9"
               : "sgd";
}

static void train(const char *strategy, const char *rule, size_t i, const char *out)
{
    char model[64];
    snprintf(model, sizeof model, "start?freeze=%s", cases[i].freeze);
    drove_options opt = images_run(model);
    set(&opt, "data", cases[i].data);
    set(&opt, "strategy", strategy);
    set(&opt, "threads", "2");
    set(&opt, "rule", rule);
    set(&opt, "weight-decay", strstr(strategy, "live") != NULL ? "0" : "0.01");
    if (strcmp(strategy, "diloco") == 0) set(&opt, "period", "2"); /* else longer than the run */
    set(&opt, "out", fresh_folder(out));
    drove_result *result;
    if (drove_train(&opt, NULL, &result) != DROVE_OK)
        fail_msg("%s, %s, freeze=%s: %s", strategy, rule, cases[i].freeze, drove_error_text());
    drove_result_destroy(result);
}

static void check(const char *strategy, const char *rule, size_t i)
{
    train(strategy, rule, i, "tuned");
    const counts c = compare("start", "tuned", cases[i].names);
    if (c.n_frozen != cases[i].n_frozen || c.n_moved != 0 || c.n_others * 4 < c.n_trained)
        fail_msg("%s, %s, freeze=%s: %zu of %zu frozen numbers moved (%zu expected to be frozen), "
                 "and %zu of %zu others",
                 strategy, rule, cases[i].freeze, c.n_moved, c.n_frozen, cases[i].n_frozen,
                 c.n_others, c.n_trained);
}

TEST(every_strategy_keeps_what_is_frozen)
{
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++) {
        for (size_t i = 0; i < DROVE_COUNT(cases); i++)
            check((*row)->name, rule_for((*row)->name), i);
    }
}

TEST(every_rule_keeps_what_is_frozen)
{
    for (size_t r = 0; drove__rules[r] != NULL; r++) {
        /* of a head alone there is no hidden matrix, which muon asks for */
        const size_t first = strcmp(drove__rules[r]->name, "muon") == 0 ? 1 : 0;
        for (size_t i = first; i < DROVE_COUNT(cases); i++) check("sync", drove__rules[r]->name, i);
    }
}

TEST(a_team_of_cores_keeps_what_is_frozen)
{
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        char model[64];
        snprintf(model, sizeof model, "start?freeze=%s", cases[i].freeze);
        drove_options opt = images_run(model);
        set(&opt, "data", cases[i].data);
        set(&opt, "workers", "threads:2");
        set(&opt, "out", fresh_folder("tuned"));
        run_to(&opt, DROVE_FINISHED);
        const counts c = compare("start", "tuned", cases[i].names);
        assert_int_equal(c.n_moved, 0);
        assert_true(c.n_others * 4 >= c.n_trained);
    }
}

/* ---- kept, or computed with each batch ---- */

static void find_freeze(void *context, const char *text)
{
    if (strncmp(text, "freeze: ", 8) == 0) snprintf(context, 256, "%s", text);
}

/* The message of the freeze has these words. */
static double final_loss(const drove_options *opt, const char *words)
{
    drove_result *result;
    char said[256] = "";
    const drove_callbacks cb = {.message = find_freeze, .context = said};
    assert_ok(drove_train(opt, &cb, &result));
    if (strstr(said, words) == NULL) fail_msg("expected \"%s\", found \"%s\"", words, said);
    const char *json = drove_result_json(result), *at = strstr(json, "\"loss\":");
    double loss = NAN;
    if (at != NULL) sscanf(at, "\"loss\": %lf", &loss);
    drove_result_destroy(result);
    return loss;
}

TEST(kept_outputs_train_the_same_network)
{
    static const char *const names[] = {"c1", "b1", "c2", "b2", NULL};
    drove_options opt = images_run("start?freeze=c1,b1,c2,b2");
    set(&opt, "out", fresh_folder("kept"));
    const double kept = final_loss(&opt, "the outputs of \"pool\" are kept, 128 numbers");
    opt = images_run("start?freeze=c1,b1,c2,b2");
    set(&opt, "memory", "40KiB"); /* the images fit, the outputs do not */
    set(&opt, "out", fresh_folder("computed"));
    const double computed = final_loss(&opt, "there is no memory for the outputs");
    if (!(fabs(kept - computed) <= 1e-4 * fabs(kept)))
        fail_msg("loss %g with kept outputs, %g without", kept, computed);
    assert_int_equal(compare("kept", "computed", names).n_moved, 0);
}

/* ---- new heads ---- */

TEST(a_new_head_has_the_new_classes)
{
    static const char *const body[] = {"c1", "b1", "c2", "b2", "fc1", NULL};
    drove_modelfile file;
    drove_options opt = images_run("start");
    set(&opt, "data", OTHER);
    assert_fails(
        drove_train(&opt, NULL, &(drove_result *){NULL}), DROVE_E_SHAPE,
        "start: expected data of 4 classes, found 2 (?head=new makes the last layer anew)");
    opt = images_run("start?head=new&freeze=body");
    set(&opt, "data", OTHER);
    set(&opt, "out", fresh_folder("other"));
    run_to(&opt, DROVE_FINISHED);
    load_model("other", "model.safetensors", &file);
    assert_int_equal(file.io.n_classes, 2);
    assert_int_equal(file.model->n_outputs, 2);
    drove__modelfile_fini(&file);
    assert_int_equal(compare("start", "other", body).n_moved, 0);

    /* Without names all layers are trained, from the file's parameters on. */
    opt = images_run("start?head=new");
    set(&opt, "data", OTHER);
    set(&opt, "lr", "1e-30");
    set(&opt, "out", fresh_folder("all"));
    run_to(&opt, DROVE_FINISHED);
    static const char *const weights[] = {"c2", NULL}; /* which start at no 0 */
    assert_int_equal(compare("start", "all", weights).n_moved, 0);
    opt = images_run("mlp:4?head=new");
    assert_fails(drove_train(&opt, NULL, &(drove_result *){NULL}), DROVE_E_ARG,
                 "--model mlp:4?head=new: expected a network with parameters to begin with (.onnx, "
                 "a saved model, --init pytorch:FILE), found none");
}

/* ---- going on ---- */

TEST(a_run_goes_on_as_if_it_had_not_stopped)
{
    static const char *const body[] = {"c1", "b1", "c2", "b2", "fc1", NULL};
    static const char *const data[] = {OTHER, OTHER "&mirror=1"};
    for (size_t i = 0; i < DROVE_COUNT(data); i++) {
        drove_options opt = images_run("start?head=new&freeze=body");
        set(&opt, "data", data[i]);
        set(&opt, "rule", "adam");
        set(&opt, "until", "epochs=4");
        set(&opt, "out", fresh_folder("whole"));
        run_to(&opt, DROVE_FINISHED);
        set(&opt, "until", "epochs=2");
        set(&opt, "out", fresh_folder("halves"));
        run_to(&opt, DROVE_FINISHED);
        drove_options *again;
        assert_ok(drove_options_create(&again));
        assert_ok(drove_options_resume(again, "halves"));
        set(again, "until", "epochs=4");
        run_to(again, DROVE_FINISHED);
        drove_options_destroy(again);
        assert_same_model("whole", "halves");
        assert_int_equal(compare("start", "halves", body).n_moved, 0);
    }
}

TEST(a_step_size_of_0_in_the_file_freezes)
{
    static const char *const frozen[] = {"a", NULL};
    write_file("zero.yaml", "layers:\n"
                            "  - {name: a, type: dense, units: 9, activation: relu}\n"
                            "  - {name: last, type: dense}\n");
    drove_options opt = images_run("zero.yaml");
    set(&opt, "out", fresh_folder("drawn"));
    set(&opt, "lr", "1e-45"); /* of which nothing is left */
    set(&opt, "until", "epochs=1");
    run_to(&opt, DROVE_FINISHED);
    write_file("zero.yaml",
               "layers:\n"
               "  - {name: a, type: dense, units: 9, activation: relu, weight_lr: 0, bias_lr: 0}\n"
               "  - {name: last, type: dense}\n");
    opt = images_run("zero.yaml");
    set(&opt, "weight-decay", "0.1");
    set(&opt, "out", fresh_folder("tuned"));
    run_to(&opt, DROVE_FINISHED);
    const counts c = compare("drawn", "tuned", frozen);
    assert_int_equal(c.n_frozen, 192 * 9 + 9);
    assert_int_equal(c.n_moved, 0);
    assert_true(c.n_others > 0);

    /* The model that it made says so too, to whoever goes on from it. */
    opt = images_run("tuned");
    set(&opt, "out", fresh_folder("further"));
    run_to(&opt, DROVE_FINISHED);
    assert_int_equal(compare("drawn", "further", frozen).n_moved, 0);
}

TEST(words_of_few_bits_are_refused_where_they_could_not_freeze)
{
    drove_options opt = images_run("start?freeze=b1");
    set(&opt, "precision", "D8M16");
    assert_int_not_equal(drove_train(&opt, NULL, &(drove_result *){NULL}), DROVE_OK);
}

/* ---- a trainer ---- */

TEST(a_trainer_keeps_what_is_frozen)
{
    enum { N = 40, D = 6 };
    static const char *const frozen[] = {"layer0", NULL};
    static float x[N][D];
    static int32_t y[N];
    for (int i = 0; i < N * D; i++) x[i / D][i % D] = (float)((i * 37) % 11) * 0.1f;
    for (int i = 0; i < N; i++) y[i] = i % 2;
    drove_arrays *rows;
    const drove_matrix of_x = drove_matrix_dense(x, DROVE_TYPE_F32, N, D);
    const drove_matrix of_y = drove_matrix_dense(y, DROVE_TYPE_I32, N, 1);
    assert_ok(drove_arrays_create(&rows));
    assert_ok(drove_arrays_set_dense(rows, &of_x));
    assert_ok(drove_arrays_set_classes(rows, &of_y, 2, NULL));
    drove_options opt = small_run();
    set(&opt, "data", drove_arrays_name(rows));
    set(&opt, "test", "none");
    set(&opt, "model", "mlp:5");
    set(&opt, "out", fresh_folder("small"));
    run_to(&opt, DROVE_FINISHED);

    drove_options settings = drove__options_default();
    drove_trainer *t;
    drove_memory_file *saved;
    set(&settings, "rule", "momentum:0.9");
    set(&settings, "lr", "0.1");
    set(&settings, "weight-decay", "0.01");
    set(&settings, "batch", "8");
    set(&settings, "model", "small?head=new");
    assert_fails(drove_trainer_open(&settings, &t), DROVE_E_UNSUPPORTED,
                 "trainer: model: expected the head that small has, found ?head=new");
    set(&settings, "model", "small?freeze=layer0");
    assert_ok(drove_trainer_open(&settings, &t));
    int is_over = 0;
    double loss;
    assert_ok(drove_trainer_begin(t, rows));
    while (!is_over) assert_ok(drove_trainer_advance(t, 1.0, &is_over, &loss));
    assert_ok(drove_trainer_model(t, &saved));
    char path[256];
    snprintf(path, sizeof path, "%s.safetensors", drove_memory_file_name(saved));
    drove_modelfile a, b;
    load_model("small", "model.safetensors", &a);
    assert_ok(drove__modelfile_load(path, &b));
    size_t n_others = 0;
    for (size_t l = 0; l < 2; l++) {
        const drove_layer *z = &a.model->layer[l];
        for (size_t i = 0; i < z->n_w + z->n_b; i++) {
            const size_t at = i < z->n_w ? z->w_offset + i : z->b_offset + i - z->n_w;
            const bool is_other = memcmp(&a.theta[at], &b.theta[at], sizeof(float)) != 0;
            if (is_one_of(z->name, frozen)) assert_false(is_other);
            else n_others += is_other;
        }
    }
    assert_true(n_others > 0);
    drove__modelfile_fini(&a);
    drove__modelfile_fini(&b);
    drove_memory_file_destroy(saved);
    drove_trainer_destroy(t);
    drove_arrays_destroy(rows);
}
