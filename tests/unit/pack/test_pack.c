/* Packs: what they learn, and that nothing but the seed decides it. */
#include "base/cpu.h"
#include "kernel/kernel.h"
#include "model/model.h"
#include "pack/assemble.h"
#include "pack/pack.h"
#include "engine/engine.h"
#include "data/parting.h"
#include "pack_rig.h"

#include <limits.h>
#include <string.h>
#include <time.h>

static bool is_never_over(void *context)
{
    (void)context;
    return false;
}

static drove_pack_options options_of(const drove_data *data, const drove_model_io *io,
                                     const drovek_table *kernels)
{
    return (drove_pack_options){.data = data,
                                .io = io,
                                .loss = "",
                                .kernels = kernels,
                                .seed = 5,
                                .n_threads = 1,
                                .epochs = 40,
                                .is_over = is_never_over};
}

/* Outputs of a model for all examples: out[n_rows][n_outputs], as by predict. */
static void predict(const drove_model *model, const drovek_table *kernels, const float *theta,
                    const drove_data *data, float *out)
{
    drove_engine *engine;
    uint32_t *row = drove__alloc(data->n_rows, sizeof *row);
    const drove_engine_options opt = {
        .model = model, .kernels = kernels, .data = data, .max_rows = data->n_rows};
    for (uint32_t i = 0; i < data->n_rows; i++) row[i] = i;
    assert_ok(drove__engine_host.create(&opt, &engine));
    const drove_batch batch = {.data = data, .row = row, .n_rows = data->n_rows};
    assert_ok(drove__engine_host.predict(engine, theta, &batch, out));
    drove__engine_host.destroy(engine);
    drove__free(row);
}

TEST(a_pack_learns_what_no_linear_model_can)
{
    drove_data *data = rig_signs(600, 2);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    drove_pack_record record;
    drove_model *model;
    float *theta, *p = drove__alloc(1200, sizeof *p);
    unsigned n_right = 0;
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    drove_pack_options options = options_of(data, &io, &kernels);
    options.most_members = 4; /* up to a network of one hidden layer */
    assert_ok(drove__pack_train(&options, &model, &theta, &record));
    predict(model, &kernels, theta, data, p);
    for (size_t i = 0; i < 600; i++)
        n_right += (p[2 * i + 1] > p[2 * i]) == (data->storage->y_class[i] == 1);
    assert_true(n_right > 560);
    assert_true(record.loss < 0.3 && record.loss <= record.best_loss);
    assert_true(fabs(record.constant_loss - log(2.0)) < 0.01);
    assert_int_equal(record.n_judged, 600);
    drove__model_destroy(model);
    drove__free(theta);
    drove__free(p);
    drove_data_destroy(data);
}

/* Bit for bit: units depend on nothing but their seeds. */
TEST(any_number_of_threads_makes_the_same_pack)
{
    drove_data *data = rig_signs(160, 0);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    drove_pack_record record[2];
    drove_model *model[2];
    float *theta[2];
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    for (unsigned i = 0; i < 2; i++) {
        drove_pack_options options = options_of(data, &io, &kernels);
        options.n_threads = i == 0 ? 1 : 4;
        options.epochs = 3;
        options.most_members = 6;
        assert_ok(drove__pack_train(&options, &model[i], &theta[i], &record[i]));
    }
    assert_int_equal(model[0]->n_params, model[1]->n_params);
    assert_memory_equal(theta[0], theta[1], model[0]->n_params * sizeof *theta[0]);
    assert_true(record[0].loss == record[1].loss);
    for (unsigned i = 0; i < record[0].n; i++) {
        assert_true(record[0].member[i].loss == record[1].member[i].loss);
        assert_true(record[0].member[i].share == record[1].member[i].share);
    }
    for (unsigned i = 0; i < 2; i++) {
        drove__model_destroy(model[i]);
        drove__free(theta[i]);
    }
    drove_data_destroy(data);
}

/* The network of a pack gives the sum of shares of what its members give. */
TEST(one_network_of_all_members)
{
    drove_data *data = rig_signs(120, 0);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    enum { MOST = 16 };
    drove_part_of_pack part[MOST];
    drove_embedding embedding[MOST];
    drove_model *own[MOST], *model;
    float *parameters[MOST], *theta, sum[120] = {0.0f}, out[120];
    const float constant = 0.75f;
    unsigned n = 0;
    /* Numbers near the end of floats, too. */
    data->storage->x_f32[0] = data->storage->x_f32[4] = 3.4e38f;
    data->storage->x_f32[3] = -3.4e38f;
    data->storage->x_f32[8] = INFINITY; /* a far number, scaled */
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    for (size_t m = 0; m < drove__n_members; m++, n++) {
        const drove_member *member = &drove__members[m];
        unsigned same = 0; /* members of one embedding share it */
        while (same < n &&
               memcmp(&drove__members[same].embed, &member->embed, sizeof member->embed) != 0)
            same++;
        assert_ok(drove__embedding_make(data, &member->embed, 1, INFINITY, &embedding[n]));
        const drove_embedding *e = &embedding[same];
        assert_ok(drove__member_model(member, drove__embedding_width(e), &io, "", &own[n]));
        parameters[n] = drove__alloc(own[n]->n_params, sizeof *parameters[n]);
        assert_ok(drove__model_init(own[n], "normal:0.3", m + 1, parameters[n]));
        part[n] = (drove_part_of_pack){.member = member,
                                       .embedding = e,
                                       .model = own[n],
                                       .theta = parameters[n],
                                       .share = 0.1 * (double)(m + 1)};
        predict(own[n], &kernels, parameters[n], e->data, out);
        for (size_t i = 0; i < 120; i++) sum[i] += (float)part[n].share * out[i];
    }
    assert_ok(drove__pack_assemble(part, n, &constant, &io, "", &model, &theta));
    predict(model, &kernels, theta, data, out);
    for (size_t i = 0; i < 120; i++)
        assert_true(isfinite(out[i]) &&
                    fabsf(out[i] - sum[i] - constant) < 1e-4f * (1.0f + fabsf(sum[i])));
    for (size_t l = 0; l < model->n_layers; l++) /* further training changes all of them */
        assert_true(model->layer[l].opt.w_lr != DROVE_LR_NONE);
    for (unsigned i = 0; i < n; i++) {
        drove__embedding_fini(&embedding[i]);
        drove__model_destroy(own[i]);
        drove__free(parameters[i]);
    }
    drove__model_destroy(model);
    drove__free(theta);
    drove_data_destroy(data);
}

/* Of sparse examples, too, where the network is a chain. */
TEST(one_network_of_members_of_sparse_examples)
{
    enum { N = 60, F = 5 };
    drove_data *data = rig_data(N, F, 0);
    drove_storage *s = data->storage;
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    drove_part_of_pack part[2];
    drove_model *own[2], *model;
    float *parameters[2], *theta, sum[N] = {0.0f}, out[N];
    const float constant = -0.5f;
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    drove__free(s->x_f32); /* two numbers a row */
    s->x_f32 = NULL;
    s->x_kind = DROVE_X_CSR;
    s->row_start = calloc(N + 1, sizeof *s->row_start);
    s->index = calloc(2 * N, sizeof *s->index);
    s->value = calloc(2 * N, sizeof *s->value);
    for (uint32_t i = 0; i < N; i++) {
        s->row_start[i + 1] = 2 * (i + 1);
        for (uint32_t k = 0; k < 2; k++) {
            s->index[2 * i + k] = i % 2 + 2 * k;
            s->value[2 * i + k] = (float)(i % 7) - 3.0f * (float)k;
        }
    }
    for (unsigned m = 0; m < 2; m++) { /* linear, and one hidden layer */
        const drove_member *member = &drove__members[0];
        while (drove__member_depth(member) != m || member->embed.bins > 0) member++;
        assert_ok(drove__member_model(member, F, &io, "", &own[m]));
        parameters[m] = drove__alloc(own[m]->n_params, sizeof *parameters[m]);
        assert_ok(drove__model_init(own[m], "normal:0.3", m + 1, parameters[m]));
        part[m] = (drove_part_of_pack){
            .member = member, .model = own[m], .theta = parameters[m], .share = 0.25 + 0.5 * m};
        predict(own[m], &kernels, parameters[m], data, out);
        for (size_t i = 0; i < N; i++) sum[i] += (float)part[m].share * out[i];
    }
    assert_ok(drove__pack_assemble(part, 2, &constant, &io, "", &model, &theta));
    predict(model, &kernels, theta, data, out);
    for (size_t i = 0; i < N; i++)
        assert_true(fabsf(out[i] - sum[i] - constant) < 1e-4f * (1.0f + fabsf(sum[i])));
    for (unsigned m = 0; m < 2; m++) {
        drove__model_destroy(own[m]);
        drove__free(parameters[m]);
    }
    drove__model_destroy(model);
    drove__free(theta);
    drove_data_destroy(data);
}

static bool is_over_at_once(void *context)
{
    (void)context;
    return true;
}

TEST(a_pack_that_is_over_before_it_has_a_member)
{
    drove_data *data = rig_signs(100, 0);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    drove_pack_record record;
    drove_model *model;
    float *theta;
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    drove_pack_options options = options_of(data, &io, &kernels);
    options.is_over = is_over_at_once;
    assert_int_equal(drove__pack_train(&options, &model, &theta, &record), DROVE_E_ARG);
    assert_string_equal(drove_error_text(),
                        "interrupted before a member of the pack was trained; no model is saved");
    assert_null(model);
    assert_null(theta);
    drove_data_destroy(data);
}

typedef struct watch {
    unsigned n_looks, most; /* how often it asked whether it is over; when it is */
    unsigned n_told, n_done, n_units;
} watch;

static bool is_over_by_and_by(void *context)
{
    watch *w = context;
    return ++w->n_looks > w->most;
}

static void count_told(void *context, const drove_pack_told *told)
{
    watch *w = context;
    if (w->n_told++ == 0) assert_int_equal(told->n_units, 0); /* before embeddings are made */
    assert_true(told->n_done >= w->n_done && told->n_done <= told->n_units);
    w->n_done = told->n_done;
    w->n_units = told->n_units;
}

/* Whenever that is, of as many divisions as five members, or all of fewer, have finished. */
TEST(a_pack_that_is_interrupted_is_of_what_is_finished)
{
    enum { N_MEMBERS = 6, FINISHERS = 5 };
    drove_data *data = rig_signs(160, 0);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    unsigned n_interrupted = 0, most_divisions = 0;
    bool is_done = false;
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    for (unsigned most = 1; !is_done; most += 1 + most / 4) {
        watch w = {.most = most};
        drove_pack_record record;
        drove_model *model;
        float *theta;
        drove_pack_options options = options_of(data, &io, &kernels);
        options.epochs = 12;
        options.most_members = N_MEMBERS;
        options.is_over = is_over_by_and_by;
        options.tell = count_told;
        options.context = &w;
        const drove_status status = drove__pack_train(&options, &model, &theta, &record);
        assert_true(w.n_told > 0);
        if (status != DROVE_OK) {
            assert_int_equal(n_interrupted, 0);
            assert_non_null(strstr(drove_error_text(), "interrupted before a member"));
            continue;
        }
        unsigned n_finished = 0, n_trained = 0;
        is_done = !record.is_interrupted;
        n_interrupted += record.is_interrupted;
        assert_true(isfinite(record.loss));
        for (unsigned i = 0; i < record.n; i++) {
            const drove_pack_member *m = &record.member[i];
            n_trained += m->n_divisions > 0;
            n_finished += m->n_divisions >= record.n_divisions;
            assert_true(isfinite(m->loss) == (m->n_divisions > 0));
            assert_true(m->share == 0.0 || m->n_divisions >= record.n_divisions);
        }
        assert_true(n_finished >= (record.n_divisions == 1 ? 1 : FINISHERS));
        assert_true(n_trained == N_MEMBERS || record.n_divisions == 1);
        assert_true(record.n_divisions >= most_divisions);
        most_divisions = record.n_divisions;
        drove__model_destroy(model);
        drove__free(theta);
    }
    assert_int_equal(most_divisions, 5);
    assert_true(n_interrupted > 5);
    drove_data_destroy(data);
}

TEST(a_budget_of_seconds_ends_a_pack)
{
    drove_data *data = rig_signs(1000, 2);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    drove_pack_record record;
    drove_model *model;
    float *theta;
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    drove_pack_options options = options_of(data, &io, &kernels);
    options.seconds = 1.0; /* enough for one, on a busy machine too */
    options.most_members = 3;
    options.epochs = 1e6;
    assert_ok(drove__pack_train(&options, &model, &theta, &record));
    assert_true(record.n_networks >= 1);
    drove__model_destroy(model);
    drove__free(theta);
    drove_data_destroy(data);
}

/* However short it is, for the first linear member. */
TEST(a_budget_that_is_over_at_once_gives_a_model)
{
    drove_data *data = rig_signs(1000, 2);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    drove_pack_record record;
    drove_model *model;
    float *theta;
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    drove_pack_options options = options_of(data, &io, &kernels);
    options.n_threads = 4;
    for (double seconds = 1e-9; seconds < 0.1; seconds *= 100.0) {
        options.seconds = seconds;
        assert_ok(drove__pack_train(&options, &model, &theta, &record));
        assert_true(record.n >= 1 && record.member[0].n_divisions >= 1);
        assert_false(record.is_interrupted);
        drove__model_destroy(model);
        drove__free(theta);
    }
    drove_data_destroy(data);
}

static bool is_slow_at_first(void *context)
{
    unsigned *n_looks = context;
    if ((*n_looks)++ == 0) (void)nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    return false;
}

/* The record says how long it took, also where the preparation took more than half a budget. */
TEST(seconds_are_those_that_passed)
{
    drove_data *data = rig_signs(200, 2);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    drove_pack_record record;
    drove_model *model;
    float *theta;
    unsigned n_looks = 0;
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    drove_pack_options options = options_of(data, &io, &kernels);
    options.seconds = 0.001;
    options.is_over = is_slow_at_first;
    options.context = &n_looks;
    assert_ok(drove__pack_train(&options, &model, &theta, &record));
    assert_true(record.seconds >= 0.3);
    drove__model_destroy(model);
    drove__free(theta);
    drove_data_destroy(data);
}

/* Without room for any but the clipped numbers, four kinds of members are left. */
TEST(embeddings_keep_within_the_memory)
{
    drove_data *data = rig_signs(200, 2);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    drove_pack_record record;
    drove_model *model;
    float *theta;
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    drove_pack_options options = options_of(data, &io, &kernels);
    options.epochs = 2;
    options.most_bytes = 200 * 20 * sizeof(float);
    assert_ok(drove__pack_train(&options, &model, &theta, &record));
    assert_int_equal(record.n, 4);
    assert_int_equal(record.n_left_out, drove__n_members - 4);
    for (unsigned i = 0; i < record.n; i++) assert_null(strchr(record.member[i].name, ' '));
    drove__model_destroy(model);
    drove__free(theta);
    options.most_bytes =
        0.0; /* default: a quarter of the available memory, shared by n_local ranks */
    options.exchange = (drove_pack_exchange){.n = 1, .n_local = UINT_MAX};
    assert_ok(drove__pack_train(&options, &model, &theta, &record));
    assert_int_equal(record.n_left_out, drove__n_members - 4);
    drove__model_destroy(model);
    drove__free(theta);
    options.exchange.n_local = 1;
    options.most_bytes = 1e9;
    assert_ok(drove__pack_train(&options, &model, &theta, &record));
    assert_int_equal(record.n_left_out, 0);
    drove__model_destroy(model);
    drove__free(theta);
    drove_data_destroy(data);
}

/* Of many classes the ensemble is judged by some of the rows: 5,400 held ones are 2.7 million
 * outputs, of which it takes every other. */
TEST(many_classes_are_judged_by_some_rows)
{
    enum { N = 9000, CLASSES = 500 };
    drove_data *data = rig_data(N, 1, CLASSES);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    drove_pack_record record;
    drove_model *model;
    float *theta;
    for (size_t i = 0; i < N; i++) data->storage->y_class[i] = (int32_t)(i * 7 % CLASSES);
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    drove_pack_options options = options_of(data, &io, &kernels);
    options.epochs = 1;
    options.most_members = 1;
    assert_ok(drove__pack_train(&options, &model, &theta, &record));
    assert_int_equal(record.n_divisions, 3);
    assert_int_equal(record.n_judged, N * 3 / 5 / 2);
    assert_true(fabs(record.constant_loss - log(CLASSES)) < 0.01);
    drove__model_destroy(model);
    drove__free(theta);
    drove_data_destroy(data);
}

/* Nothing else than rows of the group judges what was trained on the group. */
TEST(rows_of_one_group)
{
    drove_data *data = rig_signs(60, 2);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    drove_pack_record record;
    drove_model *model;
    float *theta;
    uint32_t key[60];
    for (size_t i = 0; i < 60; i++) key[i] = 5;
    assert_ok(drove__parting_of(key, 60, &data->storage->parting));
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    drove_pack_options options = options_of(data, &io, &kernels);
    options.epochs = 2;
    assert_ok(drove__pack_train(&options, &model, &theta, &record));
    assert_true(record.is_one_group);
    assert_int_equal(record.n_judged, 60);
    drove__model_destroy(model);
    drove__free(theta);
    drove_data_destroy(data);
}

/* One member: a small network, and of no more than one kind. */
TEST(the_most_members_that_were_asked_for)
{
    drove_data *data = rig_signs(100, 2);
    const drove_model_io io = io_of(data);
    drovek_table kernels;
    drove_pack_record record;
    drove_model *model;
    float *theta;
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    drove_pack_options options = options_of(data, &io, &kernels);
    options.most_members = 1;
    options.epochs = 3;
    assert_ok(drove__pack_train(&options, &model, &theta, &record));
    assert_int_equal(record.n, 1);
    assert_true(record.n_networks <= DROVE_PACK_MOST_DIVISIONS);
    drove__model_destroy(model);
    drove__free(theta);
    drove_data_destroy(data);
}

/* Fewer rows than divisions: as many as there are; of one row none. */
TEST(a_pack_of_very_few_rows)
{
    drovek_table kernels;
    drove_pack_record record;
    drove_model *model;
    float *theta;
    assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
    for (size_t n = 2; n < 9; n++) {
        drove_data *data = rig_signs(n, 2);
        const drove_model_io io = io_of(data);
        drove_pack_options options = options_of(data, &io, &kernels);
        options.epochs = 2;
        assert_ok(drove__pack_train(&options, &model, &theta, &record));
        assert_int_equal(record.n_divisions, n < 5 ? n : 5);
        assert_int_equal(record.n_judged, n);
        drove__model_destroy(model);
        drove__free(theta);
        drove_data_destroy(data);
    }
    drove_data *data = rig_signs(1, 2);
    const drove_model_io io = io_of(data);
    const drove_pack_options options = options_of(data, &io, &kernels);
    assert_int_equal(drove__pack_train(&options, &model, &theta, &record), DROVE_E_SHAPE);
    assert_non_null(strstr(drove_error_text(), "at least two training rows"));
    assert_null(model);
    drove_data_destroy(data);
}

/* Linear members of what no linear model can tell: the guess may have all. */
TEST(a_pack_that_learns_nothing_is_a_guess)
{
    for (unsigned n_members = 1; n_members <= 3; n_members++) {
        drove_data *data = rig_signs(300, 2);
        const drove_model_io io = io_of(data);
        drovek_table kernels;
        drove_pack_record record;
        drove_model *model;
        float *theta;
        assert_ok(drovek_select(&kernels, drove__cpu_features(), NULL));
        drove_pack_options options = options_of(data, &io, &kernels);
        options.most_members = n_members;
        assert_ok(drove__pack_train(&options, &model, &theta, &record));
        assert_true(record.loss <= record.constant_loss * 1.001);
        assert_true(record.best == record.n ||
                    record.member[record.best].loss <= record.constant_loss * 1.001);
        drove__model_destroy(model);
        drove__free(theta);
        drove_data_destroy(data);
    }
}
