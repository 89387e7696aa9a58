/* bench/micro/adaptive.c - Adaptive Hogbatch in virtual time: batch size, updates and share of each
 * worker over time, from several initial sizes.  Tab-separated, ready to be plotted:
 *
 *   start  seconds  worker  speed  b  u  share  gap
 *
 * Three workers of 1, 10 and 250 thousand examples/s, b in 16 .. 8192, alpha 2.  A start is named
 * by the three sizes.  The last lines, "# ...", sum up each start: shares, the largest gap of all
 * and of the second half, and examples/s against the sum of what each does alone.
 *   bench_adaptive [DELAY_US]    fixed cost of each batch, default 0
 */
#include "base/mem.h"
#include "bench/simulate_coord.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 3, SECONDS = 240 };

static const double speeds[N] = {1e3, 10e3, 250e3};
static const uint64_t starts[][N] = {
    {16, 16, 16}, {8192, 8192, 8192}, {16, 1024, 8192}, {8192, 1024, 16}, {512, 512, 512}};

typedef struct run {
    drove_coord *coord;
    drove_sim *sim;
    drove_sim_worker actor[N];
    const char *name;
    bool is_summary;
    uint64_t next_ns; /* when the next lines are due */
    double late_gap;  /* largest of the second half */
} run;

static void must(drove_status status)
{
    if (status == DROVE_OK) return;
    fprintf(stderr, "%s\n", drove_error_text());
    exit(1);
}

static void print_workers(const run *r)
{
    drove_sim_facts all = drove__sim_facts(r->sim);
    for (unsigned w = 0; w < N; w++) {
        drove_coord_facts f;
        drove__coord_facts(r->coord, w, &f);
        printf("%s\t%.2f\t%u\t%.0f\t%llu\t%.0f\t%.4f\t%.0f\n", r->name, (double)all.now_ns / 1e9, w,
               speeds[w], (unsigned long long)f.batch, f.u,
               all.n_updates > 0 ? (double)f.n_updates / (double)all.n_updates : 0.0, all.gap);
    }
}

/* Every quarter of a second at first, later every eight. */
static void note(void *context, const drove_sim_step *step)
{
    run *r = context;
    drove_sim_facts facts = drove__sim_facts(r->sim);
    if (step->end_ns > (uint64_t)SECONDS * 500000000u) r->late_gap = fmax(r->late_gap, facts.gap);
    if (step->end_ns < r->next_ns || r->is_summary) return;
    r->next_ns += r->next_ns < 8000000000u ? 250000000u : 8000000000u;
    print_workers(r);
}

static void print_sum(const run *r)
{
    drove_sim_facts all = drove__sim_facts(r->sim);
    double alone = 0.0;
    printf("# %s: shares", r->name);
    for (unsigned w = 0; w < N; w++) {
        drove_coord_facts f;
        drove__coord_facts(r->coord, w, &f);
        printf(" %.4f", (double)f.n_updates / (double)all.n_updates);
        alone += (double)f.n_examples / (double)drove__sim_busy_ns(r->sim, w);
    }
    printf(", largest gap %.0f (second half %.0f), %.0f examples/s = %.2f %% of the sum\n",
           all.most_gap, r->late_gap, (double)all.n_examples / ((double)all.train_ns / 1e9),
           100.0 * (double)all.n_examples / (double)all.train_ns / alone);
}

static void simulate(const uint64_t start[N], double delay_us, bool is_summary)
{
    char name[64];
    run r = {.name = name, .is_summary = is_summary, .next_ns = 250000000u};
    drove_coord_worker workers[N];
    (void)snprintf(name, sizeof name, "%llu-%llu-%llu", (unsigned long long)start[0],
                   (unsigned long long)start[1], (unsigned long long)start[2]);
    for (unsigned w = 0; w < N; w++) {
        workers[w] = (drove_coord_worker){
            .batch = start[w], .least = 16, .most = 8192, .depth = 1, .survival = 1.0};
        r.actor[w].script = drove__fake_script_default();
        r.actor[w].script.speed = speeds[w];
        r.actor[w].script.delay_s = delay_us / 1e6;
    }
    must(drove__coord_create(&(drove_coord_options){.policy = &drove__policy_adaptive,
                                                    .alpha = 2.0,
                                                    .fit_tail = true,
                                                    .n_rows = 1000000,
                                                    .n_workers = N,
                                                    .worker = workers},
                             &r.coord));
    must(drove__sim_create(
        &(drove_sim_options){
            .coord = r.coord, .worker = r.actor, .n_workers = N, .hook = note, .context = &r},
        &r.sim));
    (void)drove__sim_run(r.sim,
                         &(drove_coord_message){.verb = DROVE_COORD_OPEN,
                                                .limit = UINT64_MAX / 2,
                                                .most_updates = UINT64_MAX},
                         (uint64_t)SECONDS * 1000000000u);
    if (is_summary) print_sum(&r);
    drove__sim_destroy(r.sim);
    drove__coord_destroy(r.coord);
}

int main(int argc, char **argv)
{
    double delay_us = argc > 1 ? strtod(argv[1], NULL) : 0.0;
    printf("start\tseconds\tworker\tspeed\tb\tu\tshare\tgap\n");
    for (size_t i = 0; i < DROVE_COUNT(starts); i++) simulate(starts[i], delay_us, false);
    for (size_t i = 0; i < DROVE_COUNT(starts); i++) simulate(starts[i], delay_us, true);
    return 0;
}
