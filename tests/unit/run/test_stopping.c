/* Cuts and stepping back, on a run of four parameters whose losses the test makes up. */
#include "run/stopping.h"
#include "support/test.h"

#include "sync/sync.h"

#include <math.h>
#include <string.h>

enum { N = 16 };

typedef struct rig {
    drove_run run;
    drove_loop loop;
    drove_source source;
    drove_worker worker;
    drovek_table kernels;
} rig;

static rig *make_rig(const char *rule, const char *schedule)
{
    const float theta[N] = {1, 2, 3, 4};
    rig *r = drove__alloc(1, sizeof *r);
    assert_non_null(r);
    assert_int_equal(drovek_select(&r->kernels, 0, NULL), DROVE_OK);
    const drove_optim_options opt = {.rule = rule,
                                     .schedule = schedule,
                                     .lr = 1.0,
                                     .n_params = N,
                                     .n_workers = 1,
                                     .kernels = &r->kernels};
    assert_int_equal(drove__optim_create(&opt, &r->run.workers.optim), DROVE_OK);
    const drove_sync_options sync = {.n_workers = 1, .optim = r->run.workers.optim, .seed = 1};
    const drove_params start = {.theta = (float *)(uintptr_t)theta};
    assert_int_equal(drove__sync_create(&drove__sync_sequential, &sync, &start, &r->loop.sync),
                     DROVE_OK);
    r->loop.source = &r->source;
    r->loop.worker = &r->worker;
    r->loop.order = drove__order_make(100, 10, 1, DROVE_ORDER_SHUFFLE);
    r->run.workers.loop = &r->loop;
    r->run.workers.plan.n_workers = r->run.workers.plan.n_here = 1;
    r->run.state.standing.stall_loss = r->run.state.standing.back_loss = INFINITY;
    r->run.state.standing.back_off = 1.0;
    return r;
}

static void free_rig(rig *r)
{
    drove__sync_destroy(r->loop.sync);
    drove__optim_destroy(r->run.workers.optim);
    drove__free(r->run.state.back);
    drove__free(r);
}

static float *theta_of(rig *r)
{
    return r->loop.sync->ops->peek(r->loop.sync).theta;
}

/* True: the run did not step back. */
static bool evaluate(rig *r, double loss, float first_parameter)
{
    bool wants_cut = true;
    theta_of(r)[0] = first_parameter;
    r->run.state.standing.loss = loss;
    assert_int_equal(drove__stopping_evaluated(&r->run.problem, &r->run.workers, &r->run.state,
                                               &wants_cut),
                     DROVE_OK);
    if (wants_cut)
        assert_int_equal(drove__stopping_cut(&r->run.workers, &r->run.state, &r->run.output.cb),
                         DROVE_OK);
    return !wants_cut;
}

TEST(a_plateau_cuts_from_the_best)
{
    rig *r = make_rig("sgd", "plateau:0.5?patience=2&cuts=1");
    assert_true(evaluate(r, 1.0, 10.0f));
    assert_true(evaluate(r, 0.5, 20.0f));
    assert_true(evaluate(r, 0.7, 30.0f));
    assert_false(evaluate(r, 0.6, 40.0f));
    assert_true(theta_of(r)[0] == 20.0f);
    assert_true(drove__optim_eta(r->run.workers.optim, 0.0) == 0.5f);
    assert_int_equal(r->run.state.standing.n_cuts, 1);
    /* the only cut is made: evaluations without a gain now count towards the run's patience */
    assert_true(evaluate(r, 0.7, 50.0f));
    assert_true(evaluate(r, 0.7, 60.0f));
    assert_true(evaluate(r, 0.7, 70.0f));
    assert_int_equal(r->run.state.standing.since_best, 3);
    assert_true(theta_of(r)[0] == 70.0f);
    free_rig(r);
}

/* To a fifth after four evaluations without a gain, three times, as its help says. */
TEST(a_bare_plateau_has_the_defaults)
{
    rig *r = make_rig("sgd", "plateau");
    assert_true(evaluate(r, 1.0, 10.0f));
    for (unsigned cut = 0; cut <= 3; cut++) {
        assert_true(fabs((double)drove__optim_eta(r->run.workers.optim, 0.0) - pow(0.2, cut)) <
                    1e-7);
        for (unsigned i = 0; i < 3; i++) assert_true(evaluate(r, 2.0, 20.0f));
        assert_true(evaluate(r, 2.0, 20.0f) == (cut == 3));
    }
    free_rig(r);
}

/* Sums that belong to the parameters go back with them. */
TEST(the_rule_s_state_goes_back_too)
{
    rig *r = make_rig("adagrad", "plateau:0.5?patience=1");
    theta_of(r)[N] = 4.0f;
    assert_true(evaluate(r, 1.0, 10.0f));
    theta_of(r)[N] = 9.0f;
    assert_false(evaluate(r, 2.0, 20.0f));
    assert_true(theta_of(r)[N] == 4.0f);
    free_rig(r);
}

TEST(a_loss_that_is_not_finite_steps_back)
{
    rig *r = make_rig("sgd", "constant");
    r->run.state.standing.recovers = true;
    assert_true(evaluate(r, 1.0, 10.0f));
    for (int i = 1; i <= 8; i++) {
        theta_of(r)[0] = NAN;
        r->loop.ending.nonfinite = 1;
        assert_int_equal(drove__stopping_recover(&r->run.workers, &r->run.state, &r->run.output.cb),
                         DROVE_OK);
        assert_int_equal(r->loop.ending.nonfinite, 0);
        assert_true(theta_of(r)[0] == 10.0f);
        assert_true(fabs((double)drove__optim_eta(r->run.workers.optim, 0.0) - pow(0.1, i)) < 1e-7);
    }
    r->loop.ending.nonfinite = 1; /* too often */
    assert_int_equal(drove__stopping_recover(&r->run.workers, &r->run.state, &r->run.output.cb),
                     DROVE_OK);
    assert_int_equal(r->loop.ending.nonfinite, 1);
    free_rig(r);
}

TEST(a_given_step_size_is_kept)
{
    rig *r = make_rig("sgd", "constant");
    assert_true(evaluate(r, 1.0, 10.0f));
    assert_true(evaluate(r, 3.0, 11.0f));
    r->loop.ending.nonfinite = 1;
    assert_int_equal(drove__stopping_recover(&r->run.workers, &r->run.state, &r->run.output.cb),
                     DROVE_OK);
    assert_int_equal(r->loop.ending.nonfinite, 1);
    assert_true(theta_of(r)[0] == 11.0f);
    assert_null(r->run.state.back);
    free_rig(r);
}

/* Test data decide nothing; validation data do where they are. */
TEST(the_validation_loss_decides)
{
    drove_data some = {.n_rows = 1};
    rig *r = make_rig("sgd", "plateau:0.5?patience=1");
    r->run.problem.test = &some;
    r->run.state.standing.test_loss = 5.0;
    assert_true(evaluate(r, 1.0, 10.0f));
    r->run.state.standing.test_loss = 9.0;
    assert_true(evaluate(r, 0.5, 11.0f));
    r->run.problem.validation = &some;
    r->run.state.standing.validation_loss = 0.4;
    assert_true(evaluate(r, 0.4, 12.0f));
    r->run.state.standing.validation_loss = 0.6;
    assert_false(evaluate(r, 0.1, 13.0f));
    free_rig(r);
}
