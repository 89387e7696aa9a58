/* What a run should take, by counts: seconds of an example and of a run, worked by hand from the
 * constants that strategy_counts.c names, and from the work of a step that the trials count. */
#include "auto/strategy_counts.h"
#include "auto/trials.h"
#include "config/options.h"
#include "model/model.h"
#include "problem/size.h"
#include "support/test.h"

#include <drove/data.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct rig {
    drove_config config;
    drove_problem problem;
    drove_workers workers;
} rig;

/* until NULL: the default. */
static void make_rig(rig *r, const char *data, const char *model, const char *until)
{
    drove_options o = drove__options_default();
    memset(r, 0, sizeof *r);
    assert_int_equal(drove_options_set(&o, "batch", "10"), DROVE_OK);
    assert_int_equal(drove_options_set(&o, "rule", "sgd"), DROVE_OK);
    assert_int_equal(drove_options_set(&o, "lr", "0.1"), DROVE_OK);
    assert_int_equal(drove_options_set(&o, "model", model), DROVE_OK);
    if (until != NULL) assert_int_equal(drove_options_set(&o, "until", until), DROVE_OK);
    assert_int_equal(drove__config_init(&o, &r->config), DROVE_OK);
    if (drove_data_open(data, "", 1, &r->problem.train, &r->problem.test) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    const drove_storage *s = r->problem.train->storage;
    const drove_model_io io = {.n_features = s->n_features, .n_classes = s->n_classes};
    if (drove__model_create(model, "", "", &io, &r->problem.model) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    r->problem.n_train_whole = r->problem.train->n_rows;
    assert_int_equal(drovek_select(&r->workers.kernels, 0, NULL), DROVE_OK);
}

static void free_rig(rig *r)
{
    drove__model_destroy(r->problem.model);
    drove_data_destroy(r->problem.train);
    drove_data_destroy(r->problem.test);
    drove__config_fini(&r->config);
}

static void write_sparse(void)
{
    FILE *f = fopen("counts.svm", "w");
    assert_non_null(f);
    for (int i = 0; i < 400; i++) fprintf(f, "%d %d:1 %d:1\n", i % 20, i % 300 + 1, 301 + i % 7);
    assert_int_equal(fclose(f), 0);
}

/* 0.1 us an example and 0.7 us a step of 10, beside 0.1 ns a multiply-add of dense data, 0.03 ns
 * of a network, 1 ns of sparse data: of 20 outputs 0.15 of that. */
TEST(seconds_of_an_example)
{
    static const struct {
        const char *data, *model;
        double each_s;
    } cases[] = {{"synth:logistic?n=100&d=40", "logistic", 1e-10},
                 {"synth:logistic?n=100&d=40", "mlp:6", 3e-11},
                 {"synth:logistic?n=100&d=40", "mlp:6,5", 3e-11},
                 {"libsvm:counts.svm", "svm", 0.15e-9}};
    write_sparse();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig r;
        double work, found;
        make_rig(&r, cases[i].data, cases[i].model, NULL);
        assert_int_equal(drove__trials_step_work(&r.config, &r.problem, &r.workers, &work),
                         DROVE_OK);
        assert_int_equal(drove__strategy_example_s(&r.config, &r.problem, &r.workers, &found),
                         DROVE_OK);
        const double expected = 0.1e-6 + (0.7e-6 + work * cases[i].each_s) / 10;
        if (!(fabs(found - expected) <= 1e-9 * expected))
            fail_msg("%s: expected %g, found %g", cases[i].model, expected, found);
        free_rig(&r);
    }
}

/* Of 100 examples of 1 ms: the smallest of the budgets, a tenth of it with a target, a fifth with
 * patience; without any budget ten epochs. */
TEST(seconds_of_a_run)
{
    static const struct {
        const char *until;
        double expected_s;
    } cases[] = {{"epochs=5", 0.5},
                 {"seconds=0.2", 0.2},
                 {"updates=30", 0.3},
                 {"epochs=5,seconds=0.2,updates=30", 0.2},
                 {"epochs=5,updates=30", 0.3},
                 {"loss=0.1", 1.0},
                 {"epochs=5,loss=0.1", 0.05},
                 {"epochs=5,accuracy=0.9", 0.05},
                 {"epochs=5,patience=3", 0.1},
                 {"epochs=5,patience=3,loss=0.1", 0.05}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig r;
        make_rig(&r, "synth:logistic?n=100&d=4", "logistic", cases[i].until);
        const double found = drove__strategy_expected_s(&r.config, &r.problem, 1e-3);
        if (!(fabs(found - cases[i].expected_s) < 1e-9))
            fail_msg("%s: expected %g, found %g", cases[i].until, cases[i].expected_s, found);
        free_rig(&r);
    }
}
