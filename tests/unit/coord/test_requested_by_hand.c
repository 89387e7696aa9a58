/* The coordinator over ranks, driven by hand: what workers ask, what rank 0 answers, which tasks
 * follow, with a clock that the test moves. */
#include "coord/assigned.h"
#include "support/test.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Words and verbs of requested.c. */
enum { VERB, STRETCH, ID, UPDATES, FIRST = UPDATES, N, BATCH };
enum { REPORTS = 1, HALTS = 2, LATER = 16, EXECUTE, PARK };
enum { ROWS = 100, N_WORKERS = 2, MOST_ASKED = 64 };
static const uint64_t START_NS = 1000000000;

typedef struct rig {
    drove_source source;
    drove_sync sync;
    drove_spec spec;
    drove_source_worker worker[N_WORKERS];
    drove_question asked[MOST_ASKED]; /* as they went out */
    unsigned n_asked, n_stops;
    const drove_question *script; /* answers in the place of the coordinator's, in turn */
    bool fails;
    uint64_t slept_until[MOST_ASKED];
    unsigned n_slept;
} rig;

static uint64_t time_ns;

static uint64_t read_time(void *context)
{
    (void)context;
    return time_ns;
}

static rig *now_open; /* the clock and the strategy belong to it */

static void sleep_until(void *context, uint64_t until_ns)
{
    (void)context;
    assert_true(until_ns > time_ns && now_open->n_slept < MOST_ASKED);
    now_open->slept_until[now_open->n_slept++] = until_ns;
    time_ns = until_ns;
}

static const drove_clock by_hand = {.name = "by hand",
                                    .now_ns = read_time,
                                    .sleep_until = sleep_until};

static drove_status ask(drove_sync *s, unsigned worker, drove_question *question)
{
    rig *r = now_open;
    assert_true(r->n_asked < MOST_ASKED);
    r->asked[r->n_asked++] = *question;
    if (r->fails) return DROVE_E_SYSTEM;
    if (r->script != NULL) *question = *r->script++;
    else s->answer(s->answer_context, worker, question);
    return DROVE_OK;
}

static void stop(drove_sync *s)
{
    (void)s;
    now_open->n_stops++;
}

static const drove_sync_replica_ops asks = {.ask = ask};
static const drove_sync_ops asking = {.name = "asking", .replicas = &asks, .stop = stop};
static const drove_sync_ops mute = {.name = "mute"};

/* Worker 0 is a device that asks for batches of 20, worker 1 a core with --batch 8. */
static drove_status try_open(rig *r, const char *spec, const drove_sync_ops *ops, bool is_elsewhere)
{
    memset(r, 0, sizeof *r);
    now_open = r;
    time_ns = START_NS;
    assert_int_equal(drove__spec_parse(spec, &r->spec), DROVE_OK);
    r->worker[0] = (drove_source_worker){
        .name = "opencl:0", .is_device = true, .n_cores = 1, .batch = 20, .most = 30};
    r->worker[1] = (drove_source_worker){.name = "threads:1", .group = 1, .n_cores = 1};
    r->sync = (drove_sync){.ops = ops, .n_workers = N_WORKERS};
    r->source =
        (drove_source){.ops = &drove__source_requested, .clock = &by_hand, .n_workers = N_WORKERS};
    const drove_source_options opt = {.spec = &r->spec,
                                      .clock = &by_hand,
                                      .n_workers = N_WORKERS,
                                      .n_groups = N_WORKERS,
                                      .worker = r->worker,
                                      .n_rows = ROWS,
                                      .batch = 8,
                                      .sync = &r->sync,
                                      .is_elsewhere = is_elsewhere};
    return drove__source_requested.init(&r->source, &opt);
}

static void open_rig(rig *r, const char *spec)
{
    if (try_open(r, spec, &asking, false) != DROVE_OK) fail_msg("%s", drove_error_text());
}

static void close_rig(rig *r)
{
    drove__source_requested.fini(&r->source);
    assert_true(r->sync.answer == NULL);
    drove__spec_fini(&r->spec);
}

static void open_stretch(rig *r, uint64_t limit, uint64_t most_updates)
{
    r->source.ops->open(&r->source, limit, most_updates);
}

static void expect_task(rig *r, unsigned worker, uint64_t first, uint64_t n, double lr_factor)
{
    drove_task task = {0};
    assert_true(r->source.ops->next(&r->source, worker, true, &task));
    assert_int_equal(task.number, first);
    assert_int_equal(task.first, first);
    assert_int_equal(task.n_rows, n);
    assert_true(task.lr_factor == lr_factor);
}

static void expect_none(rig *r, unsigned worker)
{
    drove_task task;
    assert_false(r->source.ops->next(&r->source, worker, true, &task));
}

static void done(rig *r, unsigned worker, uint64_t n_updates)
{
    const drove_task task = {0};
    r->source.ops->done(&r->source, worker, &task, n_updates);
}

static drove_assigned_facts facts(const rig *r, unsigned worker)
{
    drove_assigned_facts f;
    drove__assigned_facts(&r->source, worker, &f);
    return f;
}

/* ---- from the coordinator to tasks and back ---- */

TEST(tasks_follow_from_assignments)
{
    rig r;
    open_rig(&r, "hogbatch?tail=as-is&lr=linear");
    assert_int_equal(drove__assigned_groups(&r.source), N_WORKERS);
    r.source.train_ns = 7000000;
    open_stretch(&r, 60, UINT64_MAX);
    expect_task(&r, 0, 0, 20, 2.5);
    assert_int_equal(atomic_load(&r.source.next), 20);
    expect_none(&r, 0); /* one at a time */
    assert_int_equal(r.n_asked, 1);
    time_ns += 1000000;
    expect_task(&r, 1, 20, 8, 1.0);
    time_ns += 4000000;
    done(&r, 0, 1);
    expect_task(&r, 0, 28, 20, 2.5);
    assert_int_equal(r.asked[2].word[VERB], REPORTS);
    assert_int_equal(r.asked[2].word[STRETCH], 1);
    assert_int_equal(r.asked[2].word[ID], 1);
    assert_int_equal(r.asked[2].word[UPDATES], 1);
    done(&r, 1, 3);
    expect_task(&r, 1, 48, 8, 1.0);
    done(&r, 1, 1);
    expect_task(&r, 1, 56, 4, 0.5);
    assert_int_equal(atomic_load(&r.source.next), 60);
    done(&r, 1, 1);
    expect_none(&r, 1);
    expect_none(&r, 1); /* parked: no further question */
    time_ns += 2000000;
    done(&r, 0, 1);
    expect_none(&r, 0);
    assert_int_equal(r.n_asked, 7);
    assert_int_equal(r.n_stops + r.n_slept, 0);

    const drove_assigned_facts device = facts(&r, 0), core = facts(&r, 1);
    assert_string_equal(device.name, "opencl:0");
    assert_string_equal(core.name, "threads:1");
    assert_int_equal(device.n_workers, 1);
    assert_null(device.lost);
    assert_int_equal(device.coord.n_batches, 2);
    assert_int_equal(device.coord.n_examples, 40);
    assert_int_equal(device.coord.n_updates, 2);
    assert_int_equal(core.coord.n_batches, 3);
    assert_int_equal(core.coord.n_examples, 20);
    assert_int_equal(core.coord.n_updates, 5);
    /* in training time: the device from 7 to 12 and to 14 ms, the core from 8 to 12 */
    assert_int_equal(device.busy->end_ns, 14000000);
    assert_int_equal(core.busy->end_ns, 12000000);
    uint64_t sum[2] = {0, 0};
    for (size_t i = 0; i < DROVE_TIMELINE_BUCKETS; i++)
        sum[0] += device.busy->busy_ns[i], sum[1] += core.busy->busy_ns[i];
    assert_int_equal(sum[0], 7000000);
    assert_int_equal(sum[1], 4000000);
    close_rig(&r);
}

/* Updates are counted from those of the whole run: 10 are published, 13 are allowed. */
TEST(updates_have_a_limit)
{
    rig r;
    open_rig(&r, "hogbatch?tail=as-is");
    atomic_store(&r.sync.published, 10);
    open_stretch(&r, ROWS, 13);
    expect_task(&r, 1, 20, 8, 1.0);
    done(&r, 1, 2);
    expect_task(&r, 1, 28, 8, 1.0); /* 2 of 3 */
    done(&r, 1, 1);
    expect_none(&r, 1);
    expect_task(&r, 0, 0, 20, 1.0); /* given out before */
    done(&r, 0, 0);
    expect_none(&r, 0);
    atomic_store(&r.sync.published, 14);
    open_stretch(&r, ROWS, 13);
    expect_none(&r, 0);
    assert_int_equal(atomic_load(&r.source.next), 36);
    close_rig(&r);
}

TEST(a_halt_is_said_with_the_next_question)
{
    rig r;
    open_rig(&r, "hogbatch?tail=as-is");
    open_stretch(&r, ROWS, UINT64_MAX);
    expect_task(&r, 0, 0, 20, 1.0);
    r.source.ops->halt(&r.source);
    expect_task(&r, 1, 20, 8, 1.0); /* it had been given out */
    assert_int_equal(r.asked[1].word[VERB], HALTS);
    done(&r, 1, 1);
    expect_none(&r, 1);
    assert_int_equal(r.asked[2].word[VERB], HALTS | REPORTS);
    done(&r, 0, 1);
    expect_none(&r, 0);
    open_stretch(&r, ROWS, UINT64_MAX); /* goes on, and the halt is over */
    expect_task(&r, 0, 28, 20, 1.0);
    assert_int_equal(r.asked[r.n_asked - 1].word[VERB], 0);
    assert_int_equal(r.asked[r.n_asked - 1].word[STRETCH], 2);
    r.source.ops->leave(&r.source, 0); /* nothing: the run ends with its rank */
    close_rig(&r);
}

/* ---- rank 0 ---- */

static drove_question answer_to(rig *r, unsigned worker, uint64_t verb, uint64_t stretch,
                                uint64_t id, uint64_t n_updates)
{
    drove_question q = {{verb, stretch, id, n_updates}};
    r->sync.answer(r->sync.answer_context, worker, &q);
    return q;
}

TEST(rank_0_answers_what_makes_sense)
{
    rig r;
    open_rig(&r, "hogbatch?tail=as-is");
    open_stretch(&r, 60, UINT64_MAX);
    assert_int_equal(answer_to(&r, 1, 0, 2, 0, 0).word[VERB], LATER); /* not opened yet */
    assert_int_equal(answer_to(&r, 1, HALTS, 0, 0, 0).word[VERB], LATER);
    drove_question q = answer_to(&r, 1, REPORTS, 1, 2, 5); /* it does not hold it yet */
    assert_int_equal(q.word[VERB], EXECUTE);
    assert_int_equal(q.word[ID], 2);
    assert_int_equal(q.word[FIRST], 20);
    assert_int_equal(q.word[N], 8);
    assert_int_equal(q.word[BATCH], 8);
    assert_int_equal(facts(&r, 1).coord.n_batches, 0);
    /* of another assignment; more updates than examples: ignored, and nothing more is given */
    assert_int_equal(answer_to(&r, 1, REPORTS, 1, 1, 1).word[VERB], LATER);
    assert_int_equal(answer_to(&r, 1, REPORTS, 1, 2, 9).word[VERB], LATER);
    assert_int_equal(facts(&r, 1).coord.n_batches, 0);
    assert_int_equal(answer_to(&r, 1, REPORTS, 1, 2, 8).word[VERB], EXECUTE);
    assert_int_equal(facts(&r, 1).coord.n_updates, 8);
    assert_int_equal(answer_to(&r, 1, HALTS | REPORTS, 1, 3, 1).word[VERB], PARK);
    assert_int_equal(facts(&r, 1).coord.n_batches, 2);
    close_rig(&r);
}

/* ---- answers by hand ---- */

static drove_question execute(uint64_t first, uint64_t n, uint64_t batch)
{
    return (drove_question){{EXECUTE, 1, 9, first, n, batch}};
}

/* 25 examples in batches of 10, several of them begun at once. */
TEST(an_assignment_of_several_batches)
{
    rig r;
    drove_task task;
    open_rig(&r, "hogbatch?tail=as-is&lr=linear");
    open_stretch(&r, ROWS, UINT64_MAX);
    const drove_question script[] = {execute(30, 25, 10), {{PARK}}};
    r.script = script;
    expect_task(&r, 0, 30, 10, 1.25);
    expect_task(&r, 0, 40, 10, 1.25);
    assert_int_equal(atomic_load(&r.source.next), 55);
    done(&r, 0, 2);
    expect_task(&r, 0, 50, 5, 0.625);
    expect_none(&r, 0);
    done(&r, 0, 3);
    expect_none(&r, 0);
    assert_int_equal(r.n_asked, 1); /* two are open, and now one */
    done(&r, 0, 4);
    assert_false(r.source.ops->next(&r.source, 0, true, &task));
    assert_int_equal(r.n_asked, 2);
    assert_int_equal(r.asked[1].word[VERB], REPORTS);
    assert_int_equal(r.asked[1].word[ID], 9);
    assert_int_equal(r.asked[1].word[UPDATES], 9);
    assert_int_equal(r.n_stops, 0);
    close_rig(&r);
}

/* 50 us, twice as long each time, and never more than 10 ms. */
TEST(a_worker_asks_again_later)
{
    rig r;
    drove_task task;
    drove_question script[12] = {{{0}}};
    open_rig(&r, "hogbatch?tail=as-is");
    open_stretch(&r, ROWS, UINT64_MAX);
    for (int i = 0; i < 11; i++) script[i].word[VERB] = LATER;
    script[11] = execute(0, 5, 5);
    r.script = script;
    assert_false(r.source.ops->next(&r.source, 0, false, &task)); /* it need not wait */
    assert_int_equal(r.n_slept, 0);
    expect_task(&r, 0, 0, 5, 1.0);
    assert_int_equal(r.n_slept, 10);
    uint64_t at = START_NS, wait_ns = 50000;
    for (unsigned i = 0; i < r.n_slept; i++) {
        at += wait_ns;
        assert_int_equal(r.slept_until[i], at);
        wait_ns = wait_ns < 10000000 ? 2 * wait_ns : wait_ns;
    }
    close_rig(&r);
}

TEST(what_makes_no_sense_ends_the_run)
{
    const drove_question wrong[] = {
        execute(0, 0, 5),   execute(0, ROWS + 1, 5), execute(UINT64_MAX - 4, 5, 5),
        execute(96, 5, 5),  execute(199, 2, 2),      execute(0, 5, 0),
        execute(0, 20, 31), {{EXECUTE + 2}},         {{0}},
        {{REPORTS}}};
    const drove_question right[] = {execute(0, 1, 5), execute(0, ROWS, 30), execute(95, 5, 5),
                                    execute(200, 100, 1), execute(50, 1, 1)};
    drove_task task;
    rig r;
    for (size_t i = 0; i < DROVE_COUNT(wrong); i++) {
        open_rig(&r, "hogbatch?tail=as-is");
        open_stretch(&r, ROWS, UINT64_MAX);
        r.script = &wrong[i];
        assert_false(r.source.ops->next(&r.source, 0, true, &task));
        assert_int_equal(r.n_stops, 1);
        expect_none(&r, 0);
        assert_int_equal(r.n_asked, 1); /* it is parked */
        assert_int_equal(atomic_load(&r.source.next), 0);
        close_rig(&r);
    }
    for (size_t i = 0; i < DROVE_COUNT(right); i++) {
        open_rig(&r, "hogbatch?tail=as-is");
        open_stretch(&r, ROWS, UINT64_MAX);
        r.script = &right[i];
        assert_true(r.source.ops->next(&r.source, 0, true, &task));
        assert_int_equal(task.first, right[i].word[FIRST]);
        assert_int_equal(r.n_stops, 0);
        close_rig(&r);
    }
    open_rig(&r, "hogbatch?tail=as-is");
    open_stretch(&r, ROWS, UINT64_MAX);
    r.fails = true; /* the exchange does */
    expect_none(&r, 1);
    assert_int_equal(r.n_stops, 1);
    close_rig(&r);
}

/* ---- a saved state, and what is refused ---- */

TEST(examples_left_undone_go_first)
{
    rig r;
    const double groups[] = {3.0, 10.0, 4.0, 6.0};
    const uint64_t undone[] = {12, 5};
    drove_tensor tensor[] = {
        {.name = "groups", .type = DROVE_T_F64, .rank = 1, .shape = {4}, .bytes = groups},
        {.name = "undone", .type = DROVE_T_U64, .rank = 1, .shape = {2}, .bytes = undone}};
    const drove_safetensors st = {.n_tensors = 2, .tensor = tensor};
    open_rig(&r, "hogbatch:mixed?tail=as-is&lr=same");
    atomic_store(&r.source.next, 40);
    assert_false(r.source.ops->has_undone(&r.source, UINT64_MAX));
    assert_int_equal(r.source.ops->restore(&r.source, &st, true), DROVE_OK);
    assert_true(r.source.ops->has_undone(&r.source, UINT64_MAX));
    assert_true(facts(&r, 0).coord.u == 3.0);
    drove_tensor out[4];
    assert_int_equal(r.source.ops->tensors(&r.source, out, 4), 2);
    assert_int_equal(r.source.ops->tensors(&r.source, out, 1), 0); /* no room */
    open_stretch(&r, ROWS, UINT64_MAX);
    expect_task(&r, 0, 12, 5, 1.0);
    expect_task(&r, 1, 40, 6, 1.0);
    r.source.ops->settle(&r.source);
    assert_false(r.source.ops->has_undone(&r.source, UINT64_MAX));
    close_rig(&r);
}

TEST(other_ranks_keep_no_state)
{
    rig r;
    drove_tensor out[4];
    assert_int_equal(try_open(&r, "adaptive", &asking, true), DROVE_OK);
    assert_true(r.sync.answer == NULL);
    assert_int_equal(r.source.ops->tensors(&r.source, out, 4), 0);
    open_stretch(&r, ROWS, UINT64_MAX); /* tells nobody */
    const drove_question script[] = {execute(40, 20, 20)};
    r.script = script;
    expect_task(&r, 0, 40, 20, sqrt(2.5)); /* 20 examples, --batch 8 */
    close_rig(&r);
}

TEST(wrong_strategies_are_refused)
{
    rig r;
    assert_int_equal(try_open(&r, "hogbatch?merge=replace", &asking, false), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "expected merge=add"));
    close_rig(&r);
    assert_int_equal(try_open(&r, "hogbatch", &mute, false), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "carries questions to rank 0, found mute"));
    close_rig(&r);
}
