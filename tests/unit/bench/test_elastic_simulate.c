/* The methods on the virtual clock, against cases worked out by hand. */
#include "bench/simulate_elastic.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define assert_near(a, b) assert_true(fabs((double)(a) - (b)) < 1e-9 * (1.0 + fabs((double)(b))))

/* A transfer takes 2 + 3 = 5 to the master and 1 + 3 = 4 between workers. */
static const drove_sim_hosts four = {.n_workers = 4,
                                     .n_bytes = 300,
                                     .n_messages = 1,
                                     .data_s = 1,
                                     .compute_s = 20,
                                     .stretch = 1,
                                     .add_s = 0.5,
                                     .worker_update_s = 2,
                                     .master_update_s = 3,
                                     .master = {2, 0.01},
                                     .peer = {1, 0.01}};

static drove_sim_times simulate_run(const char *method, const drove_sim_hosts *hosts,
                                    drove_sim_run run)
{
    const drove_exchange_pattern *m = drove__sim_method(method);
    drove_sim_times t;
    assert_non_null(m);
    assert_int_equal(drove__simulate_exchange(m, hosts, &run, &t), DROVE_OK);
    assert_near(t.data_s + t.compute_s + t.exchange_s + t.wait_s + t.worker_update_s +
                    t.master_update_s,
                t.iteration_s);
    return t;
}

static drove_sim_times simulate(const char *method, const drove_sim_hosts *hosts)
{
    return simulate_run(method, hosts,
                        (drove_sim_run){.period = 1, .n_iterations = 400, .seed = 1});
}

TEST(turns_by_hand)
{
    drove_sim_times t = simulate("easgd?overlap=0", &four);
    assert_near(t.iteration_s, 1 + 20 + 10 + 2 + 3);
    assert_near(t.update_s, t.iteration_s); /* one worker at a time */
    t = simulate("easgd", &four);
    assert_near(t.iteration_s, 1 + 20 + 2 + 3);
    assert_near(t.exchange_s, 0);
    drove_sim_hosts h = four;
    h.n_messages = 8; /* a transfer: 16 + 3 */
    assert_near(simulate("easgd", &h).exchange_s, 2 * 19 - 20);
}

TEST(rounds_by_hand)
{
    /* The tree of 4 has two levels. */
    drove_sim_times t = simulate("easgd-sync1", &four);
    assert_near(t.exchange_s, 2 * 5 + 2 * 5.5);
    assert_near(t.iteration_s, 1 + 20 + 21 + 2 + 3);
    t = simulate("easgd-sync2", &four);
    assert_near(t.exchange_s, 2 * 4 + 2 * 4.5);
    assert_near(t.iteration_s, 1 + 20 + 17 + 3); /* both updates at once */
    t = simulate("easgd-sync3 (paper)", &four);
    assert_near(t.exchange_s, 2 * 4.5); /* the broadcast is hidden */
    t = simulate("easgd-sync3?centre=one", &four);
    assert_near(t.exchange_s, 0);
    /* Each half: 2 messages and 3/4 of the bytes; then 3/4 of an addition. */
    t = simulate("allreduce", &four);
    assert_near(t.exchange_s, 2 * (2 * 1 + 0.75 * 3) + 0.75 * 0.5);
    assert_near(t.iteration_s, 1 + 20 + t.exchange_s + 2 + 3);
    assert_near(t.update_s, t.iteration_s / 4);
    assert_near(simulate("easgd-sync3", &four).iteration_s, 1 + 20 + 2 + 3);
    drove_sim_hosts h = four;
    h.compute_s = 5;
    assert_near(simulate("easgd-sync3", &h).exchange_s, 2 * (2 + 0.75 * 3) + 0.75 * 0.5 - 5);
}

TEST(period_and_stretch)
{
    drove_sim_run run = {.period = 4, .n_iterations = 400, .seed = 1};
    drove_sim_times one = simulate("local", &four), t = simulate_run("local", &four, run);
    assert_near(t.exchange_s, one.exchange_s / 4);
    assert_near(t.master_update_s, 3.0 / 4);
    assert_near(simulate_run("easgd", &four, run).master_update_s, 3.0 / 4);
    drove_sim_hosts h = four;
    h.stretch = 1.1;
    /* 8.875 of the exchange beside compute. */
    assert_near(simulate("easgd-sync3", &h).compute_s, 20 + 0.1 * 8.875);
    assert_near(simulate("allreduce", &h).compute_s, 20);
    h.codec_s = 0.25;
    assert_near(simulate("easgd-sync3", &h).exchange_s, 0.25);
}

TEST(master_serves_one_at_a_time)
{
    drove_sim_hosts h = four;
    h.n_workers = 1;
    /* Alone: to the master, its update and back: 5 + 3 + 5, hidden or not. */
    assert_near(simulate("easgd-async?overlap=1", &h).iteration_s, 1 + 20 + 2);
    assert_near(simulate("psgd-async", &h).iteration_s, 1 + 20 + 13 + 2);
    /* Many workers, nothing to compute: the link takes 5 for each visit. */
    h.n_workers = 20;
    h.compute_s = h.data_s = h.worker_update_s = 0;
    assert_true(fabs(simulate("easgd-async?overlap=1", &h).update_s - 5) < 0.02);
    assert_true(fabs(simulate("psgd-hogwild", &h).update_s - 5) < 0.02);
    /* Updates of 8: the master's lock is what they wait for, hogwild's do not. */
    h.master_update_s = 8;
    assert_true(fabs(simulate("psgd-async", &h).update_s - 8) < 0.03);
    assert_true(fabs(simulate("psgd-hogwild", &h).update_s - 5) < 0.02);
}

/* Largest of 4 standard normal numbers, as expected: 1.0294. */
TEST(spread_is_waited_for)
{
    drove_sim_hosts h = four;
    drove_sim_run run = {.period = 1, .n_iterations = 20000, .seed = 7};
    h.spread = 0.1;
    drove_sim_times t = simulate_run("allreduce", &h, run);
    assert_true(fabs(t.wait_s - 2 * 1.0294) < 0.03);
    /* For good: no method gets around the slow node. */
    h.in_place = 1;
    t = simulate_run("easgd-sync3", &h, run);
    assert_true(fabs(t.iteration_s - 26 - 2 * 1.0294) < 0.06);
    /* By iteration: an exchange beside compute lets the slow one catch up. */
    h.in_place = 0;
    t = simulate_run("easgd-sync3", &h, run);
    assert_true(t.iteration_s < 26 + 0.3 * 2 * 1.0294);
    /* The same seed, the same times. */
    drove_sim_times again = simulate_run("easgd-sync3", &h, run);
    assert_memory_equal(&t, &again, sizeof t);
}

TEST(nonsense_is_refused)
{
    const drove_sim_run run = {.period = 1, .n_iterations = 1};
    drove_sim_times t;
    drove_sim_hosts bad[6];
    for (unsigned i = 0; i < 6; i++) bad[i] = four;
    bad[0].n_workers = 0;
    bad[1].n_workers = DROVE_SIM_MOST_WORKERS + 1;
    bad[2].stretch = 0.5;
    bad[3].in_place = 1.5;
    bad[4].compute_s = NAN;
    bad[5].peer.beta_s = -1;
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(drove__simulate_exchange(drove__sim_method("easgd"), &bad[i], &run, &t),
                         DROVE_E_ARG);
    }
    assert_int_equal(drove__simulate_exchange(drove__sim_method("easgd"), &four,
                                              &(drove_sim_run){.n_iterations = 1}, &t),
                     DROVE_E_ARG);
}
