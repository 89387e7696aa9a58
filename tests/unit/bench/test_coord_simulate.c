/* Whole runs in virtual time: every example once whatever is lost, equal shares, nobody waits. */
#include "bench/simulate_coord.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4, MOST_POSITIONS = 1 << 12 };

/* A coordinator with its simulation, and what it has done. */
typedef struct run {
    drove_coord_options opt;
    drove_coord_worker worker[MOST];
    drove_sim_worker actor[MOST];
    drove_coord *coord;
    drove_sim *sim;
    unsigned char n_done[MOST_POSITIONS];
    bool is_counted; /* positions are small enough to be counted one by one */
    double late_gap; /* most gap since `late_ns` */
    uint64_t late_ns;
    uint64_t hash;
} run;

static void note(void *context, const drove_sim_step *step)
{
    run *r = context;
    drove_sim_facts facts = drove__sim_facts(r->sim);
    for (uint64_t i = 0; r->is_counted && i < step->range.n; i++) {
        assert_true(step->range.first + i < MOST_POSITIONS);
        r->n_done[step->range.first + i]++;
    }
    if (step->end_ns >= r->late_ns) r->late_gap = fmax(r->late_gap, facts.gap);
    r->hash = (r->hash ^ step->range.first ^ step->end_ns * 31 ^ step->worker) * 0x100000001b3u;
}

/* n workers that do so many thousand examples/s each, batches of 1 .. 8. */
static void prepare(run *r, unsigned n, const double *speeds)
{
    memset(r, 0, sizeof *r);
    r->is_counted = true;
    r->opt = (drove_coord_options){.policy = &drove__policy_adaptive,
                                   .alpha = 2.0,
                                   .n_rows = 23,
                                   .n_workers = n,
                                   .worker = r->worker};
    for (unsigned w = 0; w < n; w++) {
        r->worker[w] = (drove_coord_worker){.name = {(char)('A' + w)},
                                            .batch = 2,
                                            .least = 1,
                                            .most = 8,
                                            .depth = 1,
                                            .survival = 1.0,
                                            .timeout_s = 1.0};
        r->actor[w].script = drove__fake_script_default();
        r->actor[w].script.speed = speeds[w] * 1e3;
    }
}

static void begin(run *r)
{
    if (drove__coord_create(&r->opt, &r->coord) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(drove__sim_create(&(drove_sim_options){.coord = r->coord,
                                                            .worker = r->actor,
                                                            .n_workers = r->opt.n_workers,
                                                            .hook = note,
                                                            .context = r},
                                       &r->sim),
                     DROVE_OK);
}

static void end(run *r)
{
    drove__sim_destroy(r->sim);
    drove__coord_destroy(r->coord);
    r->sim = NULL;
    r->coord = NULL;
}

static drove_sim_end train(run *r, uint64_t limit, uint64_t halt_ns)
{
    return drove__sim_run(r->sim,
                          &(drove_coord_message){
                              .verb = DROVE_COORD_OPEN, .limit = limit, .most_updates = UINT64_MAX},
                          halt_ns);
}

static void check_once(const run *r, uint64_t limit, const char *what)
{
    for (uint64_t i = 0; i < MOST_POSITIONS; i++)
        if (r->n_done[i] != (i < limit))
            fail_msg("%s: position %llu was done %u times", what, (unsigned long long)i,
                     r->n_done[i]);
}

/* What was done and what the coordinator says is undone make up [0, next). */
static void check_deserted(run *r, const char *what)
{
    const drove_range *undone;
    size_t n = drove__coord_undone(r->coord, &undone);
    for (size_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < undone[i].n; k++) r->n_done[undone[i].first + k]++;
    check_once(r, drove__coord_next(r->coord), what);
}

/* ---- every example once ---- */

typedef struct loss { /* what becomes of a worker, and at which of its batches */
    uint64_t after;
    bool hangs;
} loss;

enum { LIMIT = 60, BATCHES = 14 };

static void lose_workers(unsigned variant, unsigned n, const loss *losses, bool all_are_lost)
{
    static const double speeds[] = {1.0, 3.0, 10.0};
    char what[128];
    run r;
    prepare(&r, n, speeds);
    r.opt.policy = variant & 1 ? &drove__policy_adaptive : &drove__policy_fixed;
    r.opt.fit_tail = (variant & 2) != 0;
    for (unsigned w = 0; w < n; w++) {
        r.worker[w].depth = variant & 4 ? 2 : 1;
        if (losses[w].hangs) r.actor[w].script.hang_after = losses[w].after;
        else r.actor[w].script.fail_after = losses[w].after;
    }
    (void)snprintf(what, sizeof what, "variant %u, lost after %llu %llu %llu", variant,
                   (unsigned long long)losses[0].after, (unsigned long long)losses[1].after,
                   (unsigned long long)losses[n - 1].after);
    begin(&r);
    drove_sim_end how = train(&r, LIMIT, UINT64_MAX);
    if (how == DROVE_SIM_PARKED) {
        check_once(&r, LIMIT, what);
        how = train(&r, LIMIT + 30, UINT64_MAX);
        if (how == DROVE_SIM_PARKED) check_once(&r, LIMIT + 30, what);
    }
    if (how == DROVE_SIM_DESERTED) check_deserted(&r, what);
    assert_true(how != DROVE_SIM_STUCK);
    assert_true(how == DROVE_SIM_PARKED || all_are_lost);
    end(&r);
}

TEST(one_of_three_is_lost_at_any_batch)
{
    for (unsigned variant = 0; variant < 8; variant++) {
        for (unsigned i = 0; i < 3 * 50 * 2; i++) {
            loss losses[3] = {{UINT64_MAX, false}, {UINT64_MAX, false}, {UINT64_MAX, false}};
            losses[i % 3] = (loss){i / 6, i / 3 % 2 == 1};
            lose_workers(variant, 3, losses, false);
        }
    }
}

/* Two of three workers are lost, each at each of its batches, by failing or by silence: one of the
 * four ways for each pair of batches, another in each variant; in the long tests all. */
TEST(two_of_three_are_lost_at_any_batch)
{
    const bool is_long = getenv("DROVE_TEST_LONG") != NULL;
    for (unsigned variant = 0; variant < 8; variant++) {
        for (unsigned keep = 0; keep < 3; keep++) {
            for (uint64_t i = 0; i < BATCHES; i++) {
                for (uint64_t k = 0; k < BATCHES; k++) {
                    for (unsigned how = 0; how < 4; how++) {
                        if (!is_long && how != (i + 2 * k + variant) % 4) continue;
                        loss losses[3] = {{UINT64_MAX, false},
                                          {UINT64_MAX, false},
                                          {UINT64_MAX, false}};
                        losses[(keep + 1) % 3] = (loss){i, (how & 1) != 0};
                        losses[(keep + 2) % 3] = (loss){k, (how & 2) != 0};
                        lose_workers(variant, 3, losses, false);
                    }
                }
            }
        }
    }
}

TEST(all_are_lost_at_any_batch)
{
    for (unsigned variant = 0; variant < 8; variant++) {
        for (uint64_t i = 0; i < BATCHES; i++) {
            for (uint64_t k = 0; k < BATCHES; k++) {
                loss losses[2] = {{i, (i + k) % 2 == 0}, {k, k % 3 == 0}};
                lose_workers(variant, 2, losses, true);
            }
        }
    }
}

/* Batches that take longer than the timeout: done after all, but too late to count. */
TEST(late_answers_do_not_count)
{
    run r;
    prepare(&r, 2, (double[]){0.001, 1.0}); /* A needs two seconds for its first two examples */
    begin(&r);
    assert_int_equal(train(&r, 3000, UINT64_MAX), DROVE_SIM_PARKED);
    check_once(&r, 3000, "late");
    assert_true(drove__sim_facts(r.sim).now_ns > 2000000000);
    assert_int_equal(drove__sim_busy_ns(r.sim, 0), 0);
    end(&r);
}

TEST(without_timeouts_a_hang_is_for_ever)
{
    run r;
    prepare(&r, 2, (double[]){1.0, 1.0});
    r.worker[0].timeout_s = 0.0;
    r.actor[0].script.hang_after = 3;
    begin(&r);
    assert_int_equal(train(&r, 100, UINT64_MAX), DROVE_SIM_STUCK);
    end(&r);
}

/* A new process goes on with what the old one has saved. */
static void restart(run *r)
{
    const drove_range *undone;
    drove_coord *old = r->coord;
    size_t n = drove__coord_undone(old, &undone);
    drove__sim_destroy(r->sim);
    begin(r);
    drove__coord_restore(r->coord, drove__coord_next(old));
    assert_int_equal(drove__coord_restore_undone(r->coord, undone, n), DROVE_OK);
    for (unsigned w = 0; w < r->opt.n_workers; w++) {
        drove_coord_facts facts;
        drove__coord_facts(old, w, &facts);
        drove__coord_restore_worker(r->coord, w, facts.u, facts.batch);
    }
    drove__coord_destroy(old);
}

/* Halts at random moments, failures, and now and then a new process. */
TEST(halts_and_restarts_lose_nothing)
{
    for (uint64_t seed = 0; seed < 400; seed++) {
        drove_rng rng;
        run r;
        drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 0);
        prepare(&r, 3, (double[]){1.0, 4.0, 30.0});
        r.opt.fit_tail = drove__rng_below(&rng, 2) == 1;
        for (unsigned w = 0; w < 3; w++) {
            r.actor[w].script.jitter = 0.5;
            r.actor[w].script.seed = seed + w;
            r.worker[w].depth = 1 + (unsigned)drove__rng_below(&rng, 2);
            r.worker[w].timeout_s = 0.2;
            if (w != seed % 3) r.actor[w].script.fail_after = drove__rng_below(&rng, 60);
            if (w != seed % 3) r.actor[w].script.hang_after = drove__rng_below(&rng, 60);
        }
        begin(&r);
        for (unsigned i = 0; drove__coord_next(r.coord) < 1500; i++) {
            uint64_t now_ns = drove__sim_facts(r.sim).now_ns;
            assert_int_equal(train(&r, 1500, now_ns + drove__rng_below(&rng, 20000000)),
                             DROVE_SIM_PARKED);
            check_once(&r, drove__coord_next(r.coord), "halted");
            if (drove__rng_below(&rng, 4) == 0) restart(&r);
        }
        check_once(&r, 1500, "in the end");
        end(&r);
    }
}

/* ---- Adaptive ---- */

enum { LEAST = 16, MOST_B = 8192 }; /* 512, more than 250 */

static void prepare_speeds(run *r, const uint64_t batches[3])
{
    prepare(r, 3, (double[]){1.0, 10.0, 250.0});
    r->is_counted = false;
    r->opt.n_rows = 1000000;
    for (unsigned w = 0; w < 3; w++) {
        r->worker[w].least = LEAST;
        r->worker[w].most = MOST_B;
        r->worker[w].batch = batches[w];
        r->worker[w].timeout_s = 0.0;
    }
}

/* Speeds 1 : 10 : 250 from any sizes: a third of the updates each, and a bounded gap. */
TEST(shares_are_equal_from_any_sizes)
{
    static const uint64_t sizes[] = {16, 100, 1024, 8192};
    enum { N = DROVE_COUNT(sizes) };
    for (unsigned i = 0; i < N * N * N; i++) {
        run r;
        prepare_speeds(&r, (uint64_t[]){sizes[i % N], sizes[i / N % N], sizes[i / N / N]});
        r.late_ns = 60000000000;
        begin(&r);
        assert_int_equal(train(&r, UINT64_MAX / 2, 300000000000), DROVE_SIM_PARKED);
        drove_sim_facts all = drove__sim_facts(r.sim);
        for (unsigned w = 0; w < 3; w++) {
            drove_coord_facts facts;
            drove__coord_facts(r.coord, w, &facts);
            double share = (double)facts.n_updates / (double)all.n_updates;
            if (fabs(share - 1.0 / 3.0) > 0.01)
                fail_msg("start %u, worker %u: share %g", i, w, share);
        }
        if (r.late_gap >= 40.0) fail_msg("start %u: gap %g", i, r.late_gap);
        end(&r);
    }
}

/* Where the sizes do not span the speeds, the fast one runs away at its largest size. */
TEST(the_gap_needs_the_span)
{
    run r;
    prepare_speeds(&r, (uint64_t[]){16, 16, 16});
    for (unsigned w = 0; w < 3; w++) r.worker[w].most = 256;
    begin(&r);
    assert_int_equal(train(&r, UINT64_MAX / 2, 60000000000), DROVE_SIM_PARKED);
    assert_true(drove__sim_facts(r.sim).gap > 10000.0);
    end(&r);
}

/* Four threads, half of whose updates survive, count as two: then the CPU makes twice the
 * updates of the accelerator. */
TEST(survival_weighs_the_updates)
{
    static const double survivals[] = {1.0, 0.5, 0.25};
    for (size_t i = 0; i < DROVE_COUNT(survivals); i++) {
        run r;
        drove_coord_facts cpu, gpu;
        prepare(&r, 2, (double[]){1.0, 250.0});
        r.is_counted = false;
        r.opt.n_rows = 1000000;
        r.actor[0].n_threads = 4;
        r.worker[0].survival = survivals[i];
        r.worker[0].least = r.worker[0].batch = 4;
        r.worker[0].most = 4096;
        r.worker[1].least = 16;
        r.worker[1].batch = r.worker[1].most = 8192;
        r.worker[0].timeout_s = r.worker[1].timeout_s = 0.0;
        begin(&r);
        assert_int_equal(train(&r, UINT64_MAX / 2, 300000000000), DROVE_SIM_PARKED);
        drove__coord_facts(r.coord, 0, &cpu);
        drove__coord_facts(r.coord, 1, &gpu);
        double ratio = (double)cpu.n_updates / (double)gpu.n_updates;
        if (fabs(ratio * survivals[i] - 1.0) > 0.02) fail_msg("%g: %g", survivals[i], ratio);
        end(&r);
    }
}

/* ---- nobody waits ---- */

/* Sum of what the three do alone: 261,000/s.  Batches have no fixed cost here, so what is missing
 * is waiting: at the end of a stretch, or for nothing. */
static double part_of_the_sum(bool fit_tail, unsigned depth, uint64_t n_each)
{
    run r;
    double alone = 0.0;
    prepare_speeds(&r, (uint64_t[]){LEAST, 1024, MOST_B});
    r.opt.fit_tail = fit_tail;
    for (unsigned w = 0; w < 3; w++) {
        r.worker[w].depth = depth;
        alone += drove__sim_alone(&r.actor[w], 1024);
    }
    begin(&r);
    for (uint64_t i = 1; i <= 20; i++)
        assert_int_equal(train(&r, i * n_each, UINT64_MAX), DROVE_SIM_PARKED);
    drove_sim_facts all = drove__sim_facts(r.sim);
    assert_int_equal(all.n_examples, 20 * n_each);
    end(&r);
    assert_true(fabs(alone - 261e3) < 1.0);
    return (double)all.n_examples / ((double)all.train_ns / 1e9) / alone;
}

TEST(the_tail_is_short)
{
    /* Jobs of one second: without fitting, the slow one keeps the others waiting at each end. */
    double fitted = part_of_the_sum(true, 1, 261000),
           not_fitted = part_of_the_sum(false, 1, 261000);
    if (fitted < 0.98 || not_fitted > fitted - 0.005)
        fail_msg("fitted %g, not fitted %g", fitted, not_fitted);
    double deep = part_of_the_sum(true, 2, 261000);
    if (deep < 0.97) fail_msg("depth 2: %g", deep);
}

TEST(a_run_is_a_function_of_its_arguments)
{
    uint64_t hash[2];
    for (unsigned i = 0; i < 2; i++) {
        run r;
        prepare_speeds(&r, (uint64_t[]){16, 16, 16});
        for (unsigned w = 0; w < 3; w++) r.actor[w].script.jitter = 0.3;
        begin(&r);
        assert_int_equal(train(&r, 3000000, UINT64_MAX), DROVE_SIM_PARKED);
        hash[i] = r.hash;
        end(&r);
    }
    assert_true(hash[0] == hash[1]);
}
