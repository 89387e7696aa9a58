/* Permutation importance: what the algebra of a linear model says it is, the same of dense and of
 * sparse examples, and examples that are left as they were. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/data.h"
#include "use/importance.h"
#include "table/schema.h"
#include "support/test.h"

enum { N_ROWS = 6000, N_TOWNS = 300 };

/* Two numbers, a category of 300 values that shift y, and a number that says nothing. */
static double town_of(int i)
{
    return (double)(i * 71 % N_TOWNS);
}

static void write_table(bool with_towns)
{
    FILE *f = fopen("plane.csv", "w");
    assert_non_null(f);
    fputs(with_towns ? "a,b,noise,town,y\n" : "a,b,noise,y\n", f);
    for (int i = 0; i < N_ROWS; i++) {
        double a = i * 7 % 131 / 10.0, b = i * 5 % 113 / 10.0;
        fprintf(f, "%g,%g,%d", a, b, i * 31 % 97);
        if (with_towns) fprintf(f, ",t%g", town_of(i));
        fprintf(f, ",%g\n", 3.0 * a - b + (with_towns ? 0.1 * town_of(i) : 0.0));
    }
    assert_int_equal(fclose(f), 0);
}

typedef struct problem {
    drovek_table kernels;
    drove_data *data;
    drove_model *model;
    float *theta;
    drove_infer infer;
} problem;

static const drove_column *column_named(const drove_schema *schema, const char *name)
{
    size_t i = 0;
    while (strcmp(schema->column[i].name, name) != 0) assert_true(++i < schema->n_columns);
    return &schema->column[i];
}

/* The model y = 3 a - b + towns, whose loss is 0. */
static void begin(problem *p, bool with_towns)
{
    *p = (problem){0};
    write_table(with_towns);
    assert_int_equal(drovek_select(&p->kernels, 0, NULL), DROVE_OK);
    assert_int_equal(drove_data_open("table:plane.csv?label=y&target=value&scale=none", NULL, 1,
                                     &p->data, NULL),
                     DROVE_OK);
    const drove_schema *schema = p->data->storage->schema;
    const drove_model_io io = {.n_features = schema->n_features};
    assert_int_equal(drove__model_create("linear", NULL, NULL, &io, &p->model), DROVE_OK);
    p->theta = drove__alloc(p->model->n_params, sizeof *p->theta);
    memset(p->theta, 0, p->model->n_params * sizeof *p->theta);
    float *w = p->theta + p->model->layer[0].w_offset,
          *bias = p->theta + p->model->layer[0].b_offset;
    w[column_named(schema, "a")->first_feature] = 3.0f;
    w[column_named(schema, "b")->first_feature] = -1.0f;
    if (with_towns) {
        const drove_column *town = column_named(schema, "town");
        for (size_t i = 0; i < town->n_values; i++)
            w[town->first_feature + i] = 0.1f * (float)atof(town->value[i] + 1);
        /* numbers of sparse rows are centred */
        *bias = 3.0f * (float)column_named(schema, "a")->centre -
                (float)column_named(schema, "b")->centre;
    }
    p->infer = (drove_infer){.model = p->model,
                             .kernels = &p->kernels,
                             .data = p->data,
                             .theta = p->theta,
                             .chunk_rows = 64,
                             .n_threads = 2};
}

static void end(problem *p)
{
    drove__free(p->theta);
    drove__model_destroy(p->model);
    drove_data_destroy(p->data);
}

static double increase_of(const drove_importance *found, const char *name)
{
    for (size_t i = 0; i < found->n_columns; i++)
        if (strcmp(found->column[i].name, name) == 0) return found->column[i].loss_increase;
    fail_msg("no column %s", name);
    return NAN;
}

static double variance(double (*value)(int))
{
    double sum = 0, squares = 0;
    for (int i = 0; i < N_ROWS; i++) sum += value(i), squares += value(i) * value(i);
    return squares / N_ROWS - sum / N_ROWS * sum / N_ROWS;
}

static double part_a(int i)
{
    return 3.0 * (i * 7 % 131) / 10.0;
}
static double part_b(int i)
{
    return (i * 5 % 113) / 10.0;
}
static double part_town(int i)
{
    return 0.1 * town_of(i);
}

static void expect_about(double found, double expected)
{
    if (fabs(found - expected) > 0.08 * expected) /* 3 permutations of 2,000 draws: 3 to 4 sigma */
        fail_msg("expected about %g, found %g", expected, found);
}

/* Half the square of w (x' - x), for independent x and x', is w^2 var x on average. */
TEST(increases_are_the_variances_of_a_linear_models_terms)
{
    for (int with_towns = 0; with_towns < 2; with_towns++) {
        problem p;
        drove_importance found;
        begin(&p, with_towns);
        assert_int_equal(p.data->storage->x_kind, with_towns ? DROVE_X_CSR : DROVE_X_F32);
        assert_int_equal(drove__importance_measure(&p.infer, 2.0, 1.0, 1e9, 1, &found), DROVE_OK);
        assert_int_equal(found.n_rows, 2000);
        assert_int_equal(found.n_columns, with_towns ? 4 : 3);
        expect_about(increase_of(&found, "a"), 2.0 * variance(part_a));
        expect_about(increase_of(&found, "b"), 2.0 * variance(part_b));
        if (with_towns) expect_about(increase_of(&found, "town"), 2.0 * variance(part_town));
        assert_true(fabs(increase_of(&found, "noise")) < 1e-5);

        /* the root of the mean square of w (x' - x), which is twice the loss, as the model errs in
         * nothing else */
        for (size_t i = 0; i < found.n_columns; i++) {
            const drove_importance_column *c = &found.column[i];
            const double all = found.rmse * found.rmse + c->loss_increase;
            assert_true(fabs(found.rmse + c->rmse_increase - sqrt(fmax(all, 0.0))) <
                        0.01 * sqrt(fmax(all, 1e-4)));
            assert_true(isnan(c->accuracy_decrease) && isnan(found.accuracy));
        }
        for (size_t i = 1; i < found.n_columns; i++)
            assert_true(found.column[i - 1].loss_increase >= found.column[i].loss_increase);
        drove__importance_fini(&found);
        end(&p);
    }
}

/* The dense form of sparse examples, to which the same schema belongs. */
static void make_dense(drove_storage *s)
{
    s->x_f32 = drove__alloc(s->n_rows * s->n_features, sizeof *s->x_f32);
    memset(s->x_f32, 0, s->n_rows * s->n_features * sizeof *s->x_f32);
    for (size_t i = 0; i < s->n_rows; i++)
        for (uint64_t k = s->row_start[i]; k < s->row_start[i + 1]; k++)
            s->x_f32[i * s->n_features + s->index[k]] = s->value[k];
    free(s->row_start);
    free(s->index);
    free(s->value);
    s->row_start = NULL;
    s->index = NULL;
    s->value = NULL;
    s->x_kind = DROVE_X_F32;
}

TEST(sparse_examples_say_the_same_as_dense_ones)
{
    problem p;
    drove_importance sparse, again, dense, other;
    begin(&p, true);
    assert_int_equal(drove__importance_measure(&p.infer, 1.0, 1.0, 1e9, 7, &sparse), DROVE_OK);
    assert_int_equal(drove__importance_measure(&p.infer, 1.0, 1.0, 1e9, 7, &again), DROVE_OK);
    assert_int_equal(drove__importance_measure(&p.infer, 1.0, 1.0, 1e9, 8, &other), DROVE_OK);
    make_dense(p.data->storage);
    assert_int_equal(drove__importance_measure(&p.infer, 1.0, 1.0, 1e9, 7, &dense), DROVE_OK);
    for (size_t i = 0; i < sparse.n_columns; i++) {
        const drove_importance_column *c = &sparse.column[i];
        assert_true(c->loss_increase == increase_of(&again, c->name));
        assert_true(fabs(c->loss_increase - increase_of(&dense, c->name)) <=
                    1e-4 * fabs(c->loss_increase) + 1e-6);
    }
    assert_true(increase_of(&sparse, "a") != increase_of(&other, "a"));
    drove__importance_fini(&sparse);
    drove__importance_fini(&again);
    drove__importance_fini(&dense);
    drove__importance_fini(&other);
    end(&p);
}

/* Too much work: fewer examples, and below 100 none; no table: none. */
TEST(what_is_not_worth_it_is_left_out)
{
    problem p;
    drove_importance found;
    begin(&p, false); /* three columns, three permutations and the model as it is: 10 passes */
    assert_int_equal(drove__importance_measure(&p.infer, 1.0, 1.0, 10 * 500, 1, &found), DROVE_OK);
    assert_int_equal(found.n_rows, 500);
    drove__importance_fini(&found);
    assert_int_equal(drove__importance_measure(&p.infer, 1.0, 1.0, 10 * 99, 1, &found), DROVE_OK);
    assert_int_equal(found.n_columns, 0);
    drove__importance_fini(&found);
    drove__schema_release(p.data->storage->schema);
    p.data->storage->schema = NULL;
    assert_int_equal(drove__importance_measure(&p.infer, 1.0, 1.0, 1e9, 1, &found), DROVE_OK);
    assert_int_equal(found.n_columns, 0);
    drove__importance_fini(&found);
    end(&p);
}
