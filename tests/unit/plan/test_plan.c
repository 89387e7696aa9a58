/* From options, machine and launcher to the entry of each worker, over a small table of strategies
 * and recorded machines. */
#include "plan/plan.h"
#include "support/test.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tables ---- */

static const drove_source_rank_ops requests = {.instead = "requested"};
static const drove_source_ops claimed = {.name = "claimed"}, rounds = {.name = "rounds"},
                              assigned = {.name = "assigned",
                                          .counts_rows = true,
                                          .ranks = &requests},
                              requested = {.name = "requested", .counts_rows = true};
static const drove_source_ops *const sources[] = {&claimed, &rounds, &assigned, &requested, NULL};

static const char vector[] = "its workers step on one vector in shared memory";
static const drove_sync_places one = {.not_ranks = "it has one worker"},
                               shared = {.not_ranks = vector},
                               locked = {.not_ranks = vector, .not_procs = "its lock stays locked"},
                               coordinated = {.over_ranks = "psgd-async",
                                              .not_procs = "its coordinator is of one process"};
static const drove_sync_ops sequential = {.name = "sequential",
                                          .needs = DROVE_SYNC_ONE,
                                          .places = &one};
static const drove_sync_ops hogwild = {.name = "hogwild", .places = &shared};
static const drove_sync_ops rwlock = {.name = "rwlock", .places = &locked};
static const drove_sync_ops allreduce = {.name = "allreduce",
                                         .batches = "rounds",
                                         .needs = DROVE_SYNC_SPREAD};
static const drove_sync_ops easgd = {.name = "easgd-sync3",
                                     .batches = "rounds",
                                     .needs = DROVE_SYNC_SPREAD};
static const drove_sync_ops hogbatch = {.name = "hogbatch",
                                        .batches = "assigned",
                                        .places = &coordinated};
static const drove_sync_ops adaptive = {.name = "adaptive",
                                        .batches = "assigned",
                                        .places = &coordinated};
static const drove_sync_ops server = {.name = "psgd-async",
                                      .batches = "rounds",
                                      .needs = DROVE_SYNC_SPREAD};
static const drove_sync_ops *const strategies[] = {&sequential, &hogwild, &rwlock,
                                                   &allreduce,  &easgd,   &hogbatch,
                                                   &adaptive,   &server,  NULL};

static const drove_plan_tables tables = {strategies, sources};

/* ---- one row of a test ---- */

/* Two nodes of four cores with two hyper-threads each; processors of a core are neighbours. */
#define MACHINE "synthetic:numa:2 core:4 pu:2"
enum { PUS = 16 };

typedef struct asked { /* NULL: the default */
    const char *strategy, *workers, *precision;
    unsigned n_threads, partition;
    drove_bind bind;
    unsigned n_ranks, rank, n_local, local_rank; /* 0 ranks: no job */
    bool is_bound, knows_no_topology;
} asked;

static drove_status plan(const asked *a, drove_topo *topo, drove_plan *out)
{
    const drove_plan_wanted wanted = {.strategy = a->strategy,
                                      .workers = a->workers,
                                      .precision = a->precision != NULL ? a->precision : "",
                                      .n_threads = a->n_threads,
                                      .partition = a->partition,
                                      .bind = a->bind};
    const drove_machine m = {.topo = a->knows_no_topology ? NULL : topo,
                             .n_pus = PUS,
                             .is_bound = a->is_bound,
                             .n_ranks = a->n_ranks > 0 ? a->n_ranks : 1,
                             .rank = a->rank,
                             .n_local = a->n_local > 0 ? a->n_local : 1,
                             .local_rank = a->local_rank};
    *out = (drove_plan){0};
    DROVE_TRY(drove__plan_make(&wanted, &m, &tables, out));
    return m.topo != NULL ? drove__plan_partition(out, a->partition, &m, 1.0) : DROVE_OK;
}

/* All of a plan in one line: "HOST SOURCE spec | worker; worker ...", a worker as
 * "[*]name group cores[@pu,pu...] [device=name] [b=,l=,m=] [t=] [copy]", those of this process
 * with a star where there are others. */
static const char *describe(const drove_plan *p)
{
    static const char *const hosts[] = {"threads", "procs", "ranks"};
    static char text[4096];
    size_t used =
        (size_t)snprintf(text, sizeof text, "%s %s %s |", hosts[p->host], p->source->name, p->spec);
#define ADD(...) used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__)
    for (unsigned i = 0; i < p->n_workers; i++) {
        const drove_plan_worker *w = &p->worker[i];
        bool is_here = drove__plan_is_here(p, i);
        ADD("%s %s%s g%u x%u", i > 0 ? ";" : "", is_here && p->n_here < p->n_workers ? "*" : "",
            w->name, w->group, w->n_cores);
        for (unsigned k = 0; k < w->n_cores; k++)
            if (w->core[k].pu >= 0) ADD("%s%d", k == 0 ? "@" : ",", w->core[k].pu);
        if (w->device != NULL) {
            ADD(" device=%s", w->device->name);
            for (unsigned k = 0; k < w->device->n_args; k++) ADD(":%s", w->device->arg[k]);
        }
        if (w->batch + w->least + w->most > 0)
            ADD(" b%llu,%llu,%llu", (unsigned long long)w->batch, (unsigned long long)w->least,
                (unsigned long long)w->most);
        if (w->timeout_s > 0.0) ADD(" t%g", w->timeout_s);
        if (w->copies_data) ADD(" copy");
    }
#undef ADD
    assert_true(used < sizeof text);
    return text;
}

typedef struct row {
    asked asked;
    const char *plan;
} row;

static void expect_plans(const row *rows, size_t n)
{
    drove_topo *topo;
    assert_int_equal(drove__topo_create(MACHINE, &topo), DROVE_OK);
    for (size_t i = 0; i < n; i++) {
        drove_plan p;
        if (plan(&rows[i].asked, topo, &p) != DROVE_OK)
            fail_msg("row %zu, %s: %s", i, rows[i].plan, drove_error_text());
        assert_string_equal(describe(&p), rows[i].plan);
        unsigned n_groups = 0; /* counted from 0 without gaps */
        for (unsigned w = 0; w < p.n_workers; w++) {
            assert_true(p.worker[w].group <= n_groups);
            n_groups += p.worker[w].group == n_groups;
        }
        assert_int_equal(n_groups, p.n_groups);
        drove__plan_fini(&p);
        assert_true(p.worker == NULL && p.n_workers == 0);
        drove__plan_fini(&p); /* nothing is left to free */
    }
    drove__topo_destroy(topo);
}

/* ---- plans ---- */

TEST(threads)
{
    static const row rows[] = {
        {{.n_threads = 1}, "threads claimed sequential | thread:0 g0 x1"},
        {{.n_threads = 2}, "threads claimed hogwild | thread:0 g0 x1; thread:1 g1 x1"},
        {{.strategy = "allreduce", .n_threads = 2},
         "threads rounds allreduce | thread:0 g0 x1; thread:1 g1 x1"},
        {{.strategy = "sequential", .n_threads = 8}, "threads claimed sequential | thread:0 g0 x1"},
        {{.n_threads = 3, .bind = DROVE_BIND_COMPACT},
         "threads claimed hogwild | thread:0 g0 x1@0; thread:1 g1 x1@2; thread:2 g2 x1@4"},
        {{.n_threads = 3, .bind = DROVE_BIND_SPREAD},
         "threads claimed hogwild | thread:0 g0 x1@0; thread:1 g1 x1@8; thread:2 g2 x1@2"},
        {{.n_threads = 2, .knows_no_topology = true},
         "threads claimed hogwild | thread:0 g0 x1; thread:1 g1 x1"},
        /* threads that share the assignments of a coordinator are one group */
        {{.strategy = "hogbatch", .n_threads = 3},
         "threads assigned hogbatch | threads:3 g0 x1; threads:3 g0 x1; threads:3 g0 x1"},
        {{.strategy = "adaptive?alpha=3", .n_threads = 2},
         "threads assigned adaptive?alpha=3 | threads:2 g0 x1; threads:2 g0 x1"},
    };
    expect_plans(rows, DROVE_COUNT(rows));
}

TEST(all_threads)
{
    drove_topo *topo;
    drove_plan p;
    assert_int_equal(drove__topo_create(MACHINE, &topo), DROVE_OK);
    assert_int_equal(plan(&(asked){0}, topo, &p), DROVE_OK);
    assert_int_equal(p.n_workers, PUS);
    assert_int_equal(p.n_asked, PUS);
    drove__plan_fini(&p);
    drove__topo_destroy(topo);
}

TEST(lists)
{
    static const row rows[] = {
        /* a coordinator is what a list gets without --strategy; cores share assignments */
        {{.workers = "cpu:0-1+opencl:0"},
         "threads assigned adaptive | cpu:0-1 g0 x1@0; cpu:0-1 g0 x1@1; "
         "opencl:0 g1 x1 device=opencl:0 t60"},
        {{.workers = "cpu:0-3?gradient=one+opencl:0.1?timeout=5"},
         "threads assigned adaptive | cpu:0-3 g0 x4@0,1,2,3; "
         "opencl:0.1 g1 x1 device=opencl:0.1 t5"},
        {{.workers = "cpu:2,4?batch=3&min=1&max=7+fake:?speed=250&batch=64&min=32"},
         "threads assigned adaptive | cpu:2,4 g0 x1@2 b3,1,7; cpu:2,4 g0 x1@4 b3,1,7; "
         "fake g1 x1 device=fake b64,32,0 t60"},
        {{.strategy = "hogbatch", .workers = "threads:2+fake"},
         "threads assigned hogbatch | threads:2 g0 x1; threads:2 g0 x1; "
         "fake g1 x1 device=fake t60"},
        /* for all others cores of one entry compute together, and threads:N are N workers */
        {{.strategy = "hogwild", .workers = "threads:2+opencl:0"},
         "threads claimed hogwild | thread:0 g0 x1; thread:1 g1 x1; "
         "opencl:0 g2 x1 device=opencl:0 t60"},
        {{.strategy = "hogwild", .workers = "cpu:0-1+cpu:2-3"},
         "threads claimed hogwild | cpu:0-1 g0 x2@0,1; cpu:2-3 g1 x2@2,3"},
        {{.strategy = "allreduce", .workers = "opencl:0.0+opencl:0.1"},
         "threads rounds allreduce | opencl:0.0 g0 x1 device=opencl:0.0 t60; "
         "opencl:0.1 g1 x1 device=opencl:0.1 t60"},
        /* a device may stand twice where every worker steps for itself */
        {{.strategy = "easgd-sync3", .workers = "opencl:0+opencl:0"},
         "threads rounds easgd-sync3 | opencl:0 g0 x1 device=opencl:0 t60; "
         "opencl:0 g1 x1 device=opencl:0 t60"},
        {{.strategy = "easgd-sync3", .workers = "cuda:0+cuda:1+threads:1"},
         "threads rounds easgd-sync3 | cuda:0 g0 x1 device=cuda:0 t60; "
         "cuda:1 g1 x1 device=cuda:1 t60; thread:2 g2 x1"},
        {{.strategy = "hogwild", .workers = "host:0+host:1"},
         "threads claimed hogwild | host:0 g0 x8@0,2,4,6,8,10,12,14; "
         "host:1 g1 x8@1,3,5,7,9,11,13,15"},
        {{.strategy = "hogwild", .workers = "cpu:0+fake", .knows_no_topology = true},
         "threads claimed hogwild | cpu:0 g0 x1; fake g1 x1 device=fake t60"},
    };
    expect_plans(rows, DROVE_COUNT(rows));
}

TEST(processes)
{
    static const row rows[] = {
        {{.workers = "procs:2"}, "procs claimed hogwild | process:0 g0 x1; process:1 g1 x1"},
        {{.workers = "procs:2", .n_threads = 2},
         "procs claimed hogwild | process:0 g0 x2; process:1 g1 x2"},
        {{.workers = "procs:2", .n_threads = 2, .bind = DROVE_BIND_COMPACT},
         "procs claimed hogwild | process:0 g0 x2@0,2; process:1 g1 x2@4,6"},
        {{.workers = "procs:3", .strategy = "allreduce"},
         "procs rounds allreduce | process:0 g0 x1; process:1 g1 x1; process:2 g2 x1"},
        {{.workers = "procs:1"}, "procs claimed sequential | process:0 g0 x1"},
        {{.workers = "procs:4", .strategy = "sequential"},
         "procs claimed sequential | process:0 g0 x1"},
    };
    expect_plans(rows, DROVE_COUNT(rows));
}

TEST(ranks)
{
    static const row rows[] = {
        /* without --threads a rank takes its share of the host's processors */
        {{.n_ranks = 4, .rank = 3, .n_local = 2, .local_rank = 1, .n_threads = 2},
         "ranks rounds easgd-sync3 | rank:0 g0 x1; rank:1 g1 x1; rank:2 g2 x1; *rank:3 g3 x2"},
        {{.n_ranks = 2, .rank = 0, .n_local = 8, .local_rank = 0},
         "ranks rounds easgd-sync3 | *rank:0 g0 x2; rank:1 g1 x1"},
        /* ... which is at least one */
        {{.n_ranks = 2, .rank = 0, .n_local = PUS + 1, .local_rank = 0},
         "ranks rounds easgd-sync3 | *rank:0 g0 x1; rank:1 g1 x1"},
        {{.n_ranks = 2,
          .rank = 1,
          .n_local = 2,
          .local_rank = 1,
          .n_threads = 2,
          .bind = DROVE_BIND_COMPACT},
         "ranks rounds easgd-sync3 | rank:0 g0 x1; *rank:1 g1 x2@4,6"},
        /* a launcher that binds has left the rank its own processors, from the first on */
        {{.n_ranks = 2,
          .rank = 1,
          .n_local = 2,
          .local_rank = 1,
          .n_threads = 2,
          .bind = DROVE_BIND_COMPACT,
          .is_bound = true},
         "ranks rounds easgd-sync3 | rank:0 g0 x1; *rank:1 g1 x2@0,2"},
        /* %r is the number of the rank on its host, not in the job */
        {{.strategy = "allreduce",
          .n_ranks = 4,
          .rank = 3,
          .n_local = 2,
          .local_rank = 1,
          .workers = "opencl:0.%r"},
         "ranks rounds allreduce | rank:0 g0 x1; rank:1 g1 x1; rank:2 g2 x1; "
         "*opencl:0.1 g3 x1 device=opencl:0.1 t60"},
        {{.n_ranks = 2, .rank = 0, .n_local = 2, .local_rank = 0, .workers = "cuda:%r"},
         "ranks rounds easgd-sync3 | *cuda:0 g0 x1 device=cuda:0 t60; rank:1 g1 x1"},
        {{.n_ranks = 2, .rank = 1, .n_local = 1, .workers = "cpu:4-7"},
         "ranks rounds easgd-sync3 | rank:0 g0 x1; *cpu:4-7 g1 x4@4,5,6,7"},
        /* ranks that ask a coordinator are one worker each, too */
        {{.strategy = "hogbatch", .n_ranks = 2, .rank = 0, .n_local = 2, .n_threads = 2},
         "ranks requested hogbatch | *rank:0 g0 x2; rank:1 g1 x1"},
        {{.strategy = "adaptive?alpha=3",
          .n_ranks = 2,
          .rank = 1,
          .n_local = 1,
          .workers = "cpu:4-7?min=2&max=8"},
         "ranks requested adaptive?alpha=3 | rank:0 g0 x1; *cpu:4-7 g1 x4@4,5,6,7 b0,2,8"},
    };
    expect_plans(rows, DROVE_COUNT(rows));
}

TEST(partitions)
{
    static const row rows[] = {
        {{.partition = 2},
         "threads rounds allreduce | group:0 g0 x4@0,2,4,6 copy; group:1 g1 x4@8,10,12,14 copy"},
        {{.partition = 1}, "threads rounds allreduce | group:0 g0 x8@0,2,4,6,8,10,12,14"},
        {{.strategy = "easgd-sync3", .partition = 2, .workers = "opencl:0"},
         "threads rounds easgd-sync3 | group:0 g0 x4@0,2,4,6 copy; "
         "group:1 g1 x4@8,10,12,14 copy; opencl:0 g2 x1 device=opencl:0 t60"},
        {{.partition = 3, .knows_no_topology = true},
         "threads rounds allreduce | group:0 g0 x1 copy; group:1 g1 x1 copy; group:2 g2 x1 copy"},
        {{.n_ranks = 4, .rank = 3, .n_local = 2, .local_rank = 1, .partition = 2},
         "ranks rounds allreduce | rank:0 g0 x1; rank:1 g1 x1; rank:2 g2 x1; "
         "*rank:3 g3 x4@8,10,12,14 copy"},
        {{.n_ranks = 4,
          .rank = 3,
          .n_local = 2,
          .local_rank = 1,
          .partition = DROVE_PARTITION_AUTO,
          .is_bound = true},
         "ranks rounds allreduce | rank:0 g0 x1; rank:1 g1 x1; rank:2 g2 x1; "
         "*rank:3 g3 x8@0,2,4,6,8,10,12,14"},
    };
    expect_plans(rows, DROVE_COUNT(rows));
}

/* ---- refusals ---- */

TEST(refusals)
{
    static const row rows[] = {
        {{.strategy = "hogwilt"}, "unknown strategy \"hogwilt\"; did you mean \"hogwild\"?"},
        {{.workers = "procs:0"},
         "--workers: expected procs:N, N from 1 to 1024 or all, found "
         "\"procs:0\""},
        {{.workers = "procs:2", .strategy = "rwlock"},
         "--workers procs:2: --strategy rwlock: its lock stays locked; expected one of hogwild, "
         "allreduce, easgd-sync3, psgd-async"},
        {{.workers = "procs:2", .strategy = "hogbatch"},
         "--workers procs:2: --strategy hogbatch: its coordinator is of one process; expected one "
         "of hogwild, allreduce, easgd-sync3, psgd-async"},
        {{.workers = "cpu:0+fake", .strategy = "hogbatch", .precision = "D8i8M8"},
         "--precision D8i8M8: --workers cpu:0+fake: low-precision steps are made on the host, and "
         "a worker is a device"},
        {{.n_ranks = 2, .strategy = "hogwild"},
         "--strategy hogwild: its workers step on one vector in shared memory; 2 ranks were "
         "started: expected one of allreduce, easgd-sync3, hogbatch, adaptive, psgd-async "
         "(allreduce is what sync is among ranks)"},
        {{.n_ranks = 2, .workers = "procs:2"},
         "--workers procs:2: expected no processes of a rank's own, as 2 ranks were started, each "
         "of which is a worker"},
        {{.n_ranks = 2, .workers = "cpu:0+cpu:1"},
         "--workers cpu:0+cpu:1: expected one worker, as each rank of --strategy easgd-sync3 is "
         "one, found 2"},
        {{.n_ranks = 4, .n_local = 2, .partition = 4},
         "--partition 4: expected 2, a group for each rank on this host, or auto"},
        {{.n_ranks = 2, .n_local = 2, .partition = 2, .workers = "opencl:0"},
         "--partition 2: expected no --workers over ranks, as each rank is one worker, found "
         "opencl:0"},
        {{.n_ranks = 3, .n_local = 3, .partition = DROVE_PARTITION_AUTO},
         "a group for each of 3 ranks on this host: --partition 3: expected groups that cut no "
         "package, NUMA node or cache of this machine's 8 cores (1, 2, 4, 6, 8), found 3"},
        {{.workers = "procs:2", .strategy = "allreduce", .partition = 2},
         "--partition 2: expected a --strategy whose workers have parameters of their own, such as "
         "allreduce, in one process or over ranks, found allreduce over processes"},
        {{.partition = 2, .strategy = "hogwild"},
         "--partition 2: expected a --strategy whose workers have parameters of their own, such as "
         "allreduce, in one process or over ranks, found hogwild"},
        {{.partition = 3},
         "--partition 3: expected groups that cut no package, NUMA node or cache of this machine's "
         "8 cores (1, 2, 4, 6, 8), found 3"},
        {{.workers = "opencl:0?batch=4", .strategy = "hogwild"},
         "--workers opencl:0: expected no batch, min, max or gradient, which a coordinator reads: "
         "--strategy hogwild gives every worker --batch examples"},
        {{.workers = "opencl:0+opencl:0.1"},
         "--workers: expected each device once, found opencl:0 and opencl:0.1"},
        {{.workers = "cpu:0-2+cpu:2", .strategy = "hogwild"},
         "--workers: expected each processor once, found 2 in cpu:0-2 and cpu:2"},
        {{.workers = "cpu:16"},
         "--workers cpu:16: expected processors of the 16 that this process "
         "may use, found number 16"},
        {{.workers = "cpu:0-x"},
         "--workers cpu:0-x: expected processors such as cpu:0, cpu:0-3, "
         "cpu:0,2 or cpu:all, found \"0-x\""},
        {{.workers = "host:0?parts=32"},
         "--workers host:0: expected at most 16 groups of cores, found 32"},
        {{.workers = "cpu:0++fake"},
         "--workers: expected a worker on each side of '+', found \"cpu:0++fake\""},
        {{.workers = "cpu:0+procs:2"},
         "--workers procs:2: expected procs:N to stand alone, or a list of threads:, cpu:, host:, "
         "opencl:, cuda: and fake:"},
        {{.workers = "cpu:0?min=5&max=4"},
         "--workers: cpu:0: expected min of at most max, found 5 "
         "and 4"},
        {{.workers = "cpu:0?batch=2&min=5"},
         "--workers: cpu:0: expected batch of at least min, found 2 and 5"},
        {{.workers = "cpu:0?batch=9&max=5"},
         "--workers: cpu:0: expected batch of at most max, found 9 and 5"},
        {{.workers = "opencI:0"},
         "--workers: unknown kind of worker \"opencI\"; did you mean \"opencl\"?"},
    };
    drove_topo *topo;
    assert_int_equal(drove__topo_create(MACHINE, &topo), DROVE_OK);
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) {
        drove_plan p;
        assert_int_equal(plan(&rows[i].asked, topo, &p), DROVE_E_ARG);
        assert_string_equal(drove_error_text(), rows[i].plan);
        drove__plan_fini(&p);
    }
    drove__topo_destroy(topo);
}

/* A list as long as the option may be is read to its end, not cut. */
TEST(the_longest_list)
{
    char text[DROVE_TEXT_SIZE] = "threads:1";
    drove_topo *topo;
    drove_plan p;
    assert_int_equal(drove__topo_create(MACHINE, &topo), DROVE_OK);
    while (strlen(text) + 10 < sizeof text) strcat(text, "+threads:1");
    asked a = {.strategy = "hogwild", .workers = text};
    assert_int_equal(plan(&a, topo, &p), DROVE_OK);
    assert_int_equal(p.n_workers, (strlen(text) + 1) / 10);
    drove__plan_fini(&p);
    memset(text, 0, sizeof text);
    strcpy(text, "fake:%r");
    while (strlen(text) + 8 < sizeof text) strcat(text, "+fake:%r");
    a.n_ranks = a.n_local = 1000000;
    a.rank = a.local_rank = 999999;
    a.strategy = "easgd-sync3";
    assert_int_equal(plan(&a, topo, &p), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "characters with %r replaced, found more"));
    drove__topo_destroy(topo);
}
