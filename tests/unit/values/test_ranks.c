/* What ranks tell each other as they begin, over mailboxes in one process: names, whether all have
 * the same model, and the first failure. */
#include "cluster/mailbox.h"
#include "cluster/messages.h"
#include "config/options.h"
#include "model/model.h"
#include "support/test.h"
#include "values/ranks.h"

#include <drove/data.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, FLOATS = 5 };

typedef struct rank {
    pthread_t thread;
    drove_wire *wire;
    drove_workers workers;
    float theta[FLOATS];
    size_t n_train;
    drove_status given, agreed, compared;
    char agreed_text[DROVE_ERROR_TEXT_SIZE], compared_text[DROVE_ERROR_TEXT_SIZE];
    char first[DROVE_TEXT_SIZE], name[2][96];
    drove_score sum;
    float own[2], same; /* in tensors "own.RANK" and "same" */
    drove_tensor tensor[8];
    size_t n_tensors;
    void **memory;
} rank;

static rank all[RANKS];
static drove_config config;
static drove_data *data, *test;
static drove_model *model;

FIXTURE(make_all)
{
    drove_options o = drove__options_default();
    const drove_mailbox_options mailbox = {.n_ranks = RANKS, .seed = 3, .n_eager = 64};
    drove_wire *wire[RANKS];
    memset(all, 0, sizeof all);
    assert_int_equal(drove_options_set(&o, "data", "synth:logistic?n=40&d=4"), DROVE_OK);
    assert_int_equal(drove_options_set(&o, "strategy", "sync"), DROVE_OK);
    assert_int_equal(drove__config_init(&o, &config), DROVE_OK);
    assert_int_equal(drove_data_open("synth:logistic?n=40&d=4", "", 1, &data, &test), DROVE_OK);
    const drove_model_io io = {.n_features = 4, .n_classes = 2};
    assert_int_equal(drove__model_create("logistic", "", "", &io, &model), DROVE_OK);
    assert_true(model->n_params >= FLOATS);
    assert_int_equal(drove__mailbox_create(&mailbox, wire), DROVE_OK);
    for (unsigned i = 0; i < RANKS; i++) {
        all[i].wire = wire[i];
        all[i].n_train = 40;
        all[i].workers.ranks = (drove_ranks){.n = RANKS, .rank = i, .n_local = RANKS};
        all[i].sum = (drove_score){.loss = 1 << i, .weight = 10 << i};
        strcpy(all[i].workers.plan.spec, "sync");
        all[i].own[0] = (float)i;
        all[i].own[1] = (float)(10 * i);
        all[i].same = (float)i;
        snprintf(all[i].first, sizeof all[i].first, "folder of rank %u", i);
        assert_int_equal(drovek_select(&all[i].workers.kernels, 0, NULL), DROVE_OK);
    }
    return 0;
}

FIXTURE(free_all)
{
    for (unsigned i = 0; i < RANKS; i++) {
        for (void **block = all[i].memory; block != NULL && *block != NULL; block++) free(*block);
        free(all[i].memory);
    }
    drove__model_destroy(model);
    drove_data_destroy(data);
    drove_data_destroy(test);
    drove__config_fini(&config);
    return 0;
}

/* All that one rank does; each has its own parameters in memory that is as large as the model's. */
static void *run_rank(void *context)
{
    static const drove_messages_options options = {.timeout_s = 60, .has_progress_thread = true};
    rank *r = context;
    drove_workers *w = &r->workers;
    const drove_problem problem = {.train = data, .model = model, .n_train_whole = r->n_train};
    float *theta = calloc(model->n_params, sizeof *theta);
    memcpy(theta, r->theta, sizeof r->theta);
    if (drove__transport_messages(r->wire, &w->kernels, &options, &w->transport) != DROVE_OK)
        return NULL;
    if (r->given != DROVE_OK) drove__fail(r->given, "what rank %u says", w->ranks.rank);
    r->agreed = drove__ranks_agree(w, r->given);
    if (r->agreed != DROVE_OK) drove__error_copy(r->agreed_text);
    r->compared = drove__ranks_compare(&config, &problem, w, theta);
    if (r->compared != DROVE_OK) drove__error_copy(r->compared_text);
    (void)drove__ranks_first_text(w, r->first);
    (void)drove__ranks_add(w, &r->sum);
    r->tensor[0] = (drove_tensor){
        .type = DROVE_T_F32, .rank = 1, .shape = {1}, .name = "same", .bytes = &r->same};
    r->tensor[1] = (drove_tensor){.type = DROVE_T_F32, .rank = 1, .shape = {2}, .bytes = r->own};
    snprintf(r->tensor[1].name, sizeof r->tensor[1].name, "own.%u", w->ranks.rank);
    r->n_tensors = 2;
    (void)drove__ranks_gather(w, r->tensor, &r->n_tensors, 8, &r->memory);
    for (unsigned i = 0; i < 2; i++) drove__ranks_name(w, 1 + i, r->name[i], sizeof r->name[i]);
    w->transport->ops->destroy(w->transport);
    r->wire->ops->fini(r->wire);
    free(theta);
    return r;
}

static void run_all(void)
{
    for (unsigned i = 0; i < RANKS; i++)
        assert_int_equal(pthread_create(&all[i].thread, NULL, run_rank, &all[i]), 0);
    for (unsigned i = 0; i < RANKS; i++) {
        void *result;
        assert_int_equal(pthread_join(all[i].thread, &result), 0);
        assert_ptr_equal(result, &all[i]);
    }
}

TEST_WITH(ranks_that_are_alike, make_all, free_all)
{
    run_all();
    for (unsigned i = 0; i < RANKS; i++) {
        assert_int_equal(all[i].agreed, DROVE_OK);
        if (all[i].compared != DROVE_OK) fail_msg("%s", all[i].compared_text);
        assert_string_equal(all[i].first, "folder of rank 0");
        assert_true(all[i].sum.loss == 7 && all[i].sum.weight == 70);
        assert_string_equal(all[i].name[0], "rank 1 (host1)");
        assert_string_equal(all[i].name[1], "rank 2 (host2)");
    }
}

/* Rank 0 gets the tensors that it has not; of those that it has, its own stay. */
TEST_WITH(tensors_of_all, make_all, free_all)
{
    run_all();
    assert_int_equal(all[0].n_tensors, 4);
    assert_int_equal(all[1].n_tensors, 2);
    assert_ptr_equal(all[0].tensor[0].bytes, &all[0].same);
    for (unsigned i = 0; i < RANKS; i++) {
        char name[16];
        float found[2];
        const drove_tensor *t = &all[0].tensor[1 + i];
        snprintf(name, sizeof name, "own.%u", i);
        assert_string_equal(t->name, name);
        memcpy(found, t->bytes, sizeof found);
        assert_true(found[0] == (float)i && found[1] == (float)(10 * i));
    }
}

/* Rank 0 says it for all; the others end with the same status and no text of their own. */
TEST_WITH(what_differs_is_named, make_all, free_all)
{
    static const char first[] = "first parameters (checksum): expected ";
    all[2].theta[3] = 1.0f;
    run_all();
    for (unsigned i = 0; i < RANKS; i++) assert_int_equal(all[i].compared, DROVE_E_ARG);
    assert_memory_equal(all[0].compared_text, first, sizeof first - 1);
    assert_non_null(strstr(all[0].compared_text, " at all ranks, as at rank 0 (host0), found "));
    assert_non_null(strstr(all[0].compared_text, " at rank 2 (host2)"));
    for (unsigned i = 1; i < RANKS; i++) assert_string_equal(all[i].compared_text, "");
}

TEST_WITH(fewer_examples_than_ranks, make_all, free_all)
{
    for (unsigned i = 0; i < RANKS; i++) all[i].n_train = RANKS - 1;
    run_all();
    for (unsigned i = 0; i < RANKS; i++) assert_int_equal(all[i].compared, DROVE_E_ARG);
    assert_non_null(strstr(all[0].compared_text,
                           "expected at least as many training examples as ranks, 3, found 2"));
}

TEST_WITH(as_many_examples_as_ranks, make_all, free_all)
{
    for (unsigned i = 0; i < RANKS; i++) all[i].n_train = RANKS;
    run_all();
    for (unsigned i = 0; i < RANKS; i++) assert_int_equal(all[i].compared, DROVE_OK);
}

TEST_WITH(the_first_failure_is_that_of_all, make_all, free_all)
{
    all[1].given = DROVE_E_FILE;
    all[2].given = DROVE_E_DATA;
    run_all();
    for (unsigned i = 0; i < RANKS; i++) assert_int_equal(all[i].agreed, DROVE_E_FILE);
    assert_string_equal(all[0].agreed_text, "rank 1 (host1): what rank 1 says");
    assert_string_equal(all[2].agreed_text, "");
}

/* A process by itself agrees with itself. */
TEST(one_rank)
{
    drove_workers alone = {.ranks = {.n = 1, .n_local = 1}};
    char text[DROVE_TEXT_SIZE] = "own";
    assert_int_equal(drove__ranks_agree(&alone, DROVE_E_DATA), DROVE_E_DATA);
    assert_int_equal(drove__ranks_compare(NULL, NULL, &alone, NULL), DROVE_OK);
    assert_int_equal(drove__ranks_first_text(&alone, text), DROVE_OK);
    assert_string_equal(text, "own");
}
