/* The virtual clock: whose turn it is, what waiting takes, what costs what; all times by hand. */
#include "base/clock.h"
#include "base/futex.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/racy.h"
#include "base/virtual.h"
#include "support/actors.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UPS = DROVE_TSAN ? 10 : 100 }; /* ThreadSanitizer is slow */

typedef struct scene {
    char log[512]; /* what happened, in order: "actor@ns " */
    pthread_mutex_t lock;
    pthread_cond_t cond;
    _Atomic uint32_t word;
    const drove_clock *clock;
    bool is_set;
    int line;
    int *shared;   /* plain: one actor runs at a time */
    float *vector; /* [64] whole cache lines */
    double took_ns[MOST_ACTORS];
} scene;

static void note(scene *s, unsigned actor)
{
    size_t used = strlen(s->log);
    snprintf(s->log + used, sizeof s->log - used, "%u@%llu ", actor,
             (unsigned long long)drove__now_ns());
}

static drove_virtual *make(unsigned n, const drove_costs *costs)
{
    drove_virtual *on;
    assert_int_equal(drove__virtual_create(n + 1, 1, &on), DROVE_OK);
    for (unsigned i = 0; costs != NULL && i < n; i++) drove__virtual_set_costs(on, i, costs);
    return on;
}

/* ---- turns ---- */

static void take_turns(unsigned actor, void *context)
{
    note(context, actor);
    drove__virtual_spend(actor == 0 ? 30.0 : 20.0);
    note(context, actor);
    drove__virtual_spend(actor == 0 ? 10.0 : 20.0);
    note(context, actor);
}

TEST(the_earliest_runs_and_of_equals_the_first)
{
    scene s = {0};
    drove_virtual *on = make(3, NULL);
    assert_true(run_actors(on, 3, take_turns, &s) == 40.0);
    /* At 40 actor 1 came there first (at 20), then 2 (at 20), then 0 (at 30). */
    assert_string_equal(s.log, "0@0 1@0 2@0 1@20 2@20 0@30 1@40 2@40 0@40 ");
    drove__virtual_destroy(on);
}

static unsigned n_seen; /* by the controlling thread */

static bool sees(const void *context)
{
    const scene *s = context;
    return strstr(s->log, "1@20") != NULL && ++n_seen <= 3;
}

/* The controlling thread comes back three times while others are in the middle of their work. */
TEST(what_is_watched_for_changes_no_turn)
{
    scene s = {0};
    drove_virtual *on = make(3, NULL);
    n_seen = 0;
    drove__virtual_watch(on, sees, &s);
    assert_true(run_actors(on, 3, take_turns, &s) == 40.0);
    assert_true(n_seen > 3);
    assert_string_equal(s.log, "0@0 1@0 2@0 1@20 2@20 0@30 1@40 2@40 0@40 ");
    memset(&s, 0, sizeof s);
    drove__virtual_watch(on, NULL, NULL);
    n_seen = 0;
    (void)run_actors(on, 3, take_turns, &s);
    assert_int_equal(n_seen, 0);
    drove__virtual_destroy(on);
}

TEST(time_goes_on_from_stretch_to_stretch)
{
    scene s = {0};
    drove_virtual *on = make(1, NULL);
    const drove_clock *clock = drove__virtual_clock(on);
    assert_true(run_actors(on, 1, take_turns, &s) == 40.0);
    assert_int_equal(drove__clock_now(clock), 40);
    assert_true(drove__now_ns() > 1000000000); /* this thread lives in real time again */
    assert_true(run_actors(on, 1, take_turns, &s) == 80.0);
    assert_string_equal(clock->name, "virtual");
    drove__virtual_destroy(on);
}

static void spend_ages(unsigned actor, void *context)
{
    (void)actor, (void)context;
    drove__virtual_spend(1e22);
    drove__virtual_spend(1e9);
}

/* The controlling thread looks every three years, as that of a run does every 0.1 s, and must not
 * keep the actor from its turn when time no longer passes. */
TEST(the_clock_stops_and_turns_go_on)
{
    enum { MOST_LOOKS = 1000 };
    drove_virtual *on = make(1, NULL);
    actors all = {.on = on, .n = 1, .n_left = 1, .body = spend_ages};
    actors_thread thread = {.all = &all, .actor = 0};
    int n_looks = 0;
    drove__virtual_begin(on);
    drove__virtual_admit(on, 0);
    pthread_create(&thread.thread, NULL, actors_main, &thread);
    while (all.n_left > 0 && n_looks++ < MOST_LOOKS)
        (void)drove__virtual_wait(&all, drove__now_ns() + UINT64_C(100000000000000000));
    assert_in_range(n_looks, 46, MOST_LOOKS); /* 2^62 ns / 1e17 ns = 46.1 */
    assert_int_equal(drove__now_ns(), INT64_C(1) << 62);
    drove__virtual_end(on);
    pthread_join(thread.thread, NULL);
    drove__virtual_destroy(on);
}

static void count_up(unsigned actor, void *context)
{
    (void)actor;
    for (int i = 0; i < UPS; i++) {
        int *shared = ((scene *)context)->shared, before = *shared;
        *shared = before + 1; /* no stop in between: never lost */
        drove__virtual_spend(1.0);
    }
}

TEST(one_runs_at_a_time)
{
    int count = 0;
    scene s = {.shared = &count};
    drove_virtual *on = make(16, NULL);
    assert_true(run_actors(on, 16, count_up, &s) == UPS);
    assert_int_equal(count, 16 * UPS);
    drove__virtual_destroy(on);
}

/* ---- waiting ---- */

static void use_lock(unsigned actor, void *context)
{
    scene *s = context;
    (void)drove__lock(&s->lock);
    note(s, actor);
    drove__virtual_spend(100.0);
    drove__unlock(&s->lock);
}

TEST(a_lock_is_handed_over)
{
    scene s = {.log = ""};
    const drove_costs costs = {.hand_over_ns = 7.0};
    drove_virtual *on = make(3, &costs);
    assert_int_equal(drove__lock_init(&s.lock), DROVE_OK);
    assert_true(run_actors(on, 3, use_lock, &s) == 314.0);
    assert_string_equal(s.log, "0@0 1@107 2@214 ");
    drove__virtual_destroy(on);
}

static void wait_for_word(unsigned actor, void *context)
{
    scene *s = context;
    if (actor == 2) {
        drove__virtual_spend(50.0);
        atomic_store(&s->word, 1);
        drove__futex_wake(&s->word);
        return;
    }
    /* Actor 0 gives up first; actor 1 waits for good. */
    drove__futex_wait(&s->word, 0, actor == 0 ? 20 : UINT64_MAX);
    note(s, actor);
    drove__futex_wait(&s->word, 5, UINT64_MAX); /* it differs: at once */
}

TEST(words_wake_and_have_deadlines)
{
    scene s = {.log = ""};
    const drove_costs costs = {.hand_over_ns = 3.0};
    drove_virtual *on = make(3, &costs);
    (void)run_actors(on, 3, wait_for_word, &s);
    assert_string_equal(s.log, "0@20 1@53 ");
    drove__virtual_destroy(on);
}

static void wait_for_condition(unsigned actor, void *context)
{
    scene *s = context;
    const drove_clock *c = s->clock;
    pthread_mutex_lock(&s->lock);
    if (actor == 1) {
        note(s, actor);
        pthread_mutex_unlock(&s->lock);
        c->sleep_until(c->context, 60);
        pthread_mutex_lock(&s->lock);
        s->is_set = true;
        drove__clock_cond_wake(&s->cond);
    } else {
        while (c->cond_wait(c->context, &s->cond, &s->lock, 40)) continue;
        note(s, actor);
        while (!s->is_set) (void)c->cond_wait(c->context, &s->cond, &s->lock, UINT64_MAX);
        note(s, actor);
    }
    pthread_mutex_unlock(&s->lock);
}

TEST(conditions_wake_and_have_deadlines)
{
    scene s = {.lock = PTHREAD_MUTEX_INITIALIZER};
    drove_virtual *on = make(2, NULL);
    s.clock = drove__virtual_clock(on);
    assert_int_equal(drove__clock_cond_init(&s.cond), 0);
    (void)run_actors(on, 2, wait_for_condition, &s);
    assert_string_equal(s.log, "1@0 0@40 0@60 ");
    pthread_cond_destroy(&s.cond);
    drove__virtual_destroy(on);
}

/* ---- costs ---- */

static void move_bytes(unsigned actor, void *context)
{
    scene *s = context;
    drove__spend_copy(25, 0.0); /* 100 bytes */
    s->took_ns[actor] = (double)drove__now_ns();
    drove__spend_update(25, 0.0);
}

TEST(bytes_cost_time_and_share_memory)
{
    scene s = {.log = ""};
    drove_costs costs = {.copy_ns = 2.0, .update_ns = 3.0};
    drove_virtual *on = make(2, &costs);
    assert_true(run_actors(on, 2, move_bytes, &s) == 500.0); /* side by side */
    drove__virtual_destroy(on);
    costs.memory_ns = 1.75; /* one alone: the core's 2; the second, with the first: 2 x 1.75 */
    on = make(2, &costs);
    (void)run_actors(on, 2, move_bytes, &s);
    assert_true(s.took_ns[0] == 200.0 && s.took_ns[1] == 350.0);
    drove__virtual_destroy(on);
    on = make(2, &costs);
    costs.socket = 1; /* a memory of its own */
    drove__virtual_set_costs(on, 1, &costs);
    (void)run_actors(on, 2, move_bytes, &s);
    assert_true(s.took_ns[0] == 200.0 && s.took_ns[1] == 200.0);
    drove__virtual_destroy(on);
}

/* 0 has the line; 1 of its socket takes it, then 2 of another, which keeps it. */
static void take_line(unsigned actor, void *context)
{
    scene *s = context;
    drove__virtual_spend(actor * 1000.0);
    double begin = (double)drove__now_ns();
    drove__spend_line(&s->line);
    s->took_ns[actor] = (double)drove__now_ns() - begin;
    drove__spend_line(&s->line); /* its own by now: in no time */
    note(s, actor);
}

TEST(lines_cost_their_way)
{
    scene s = {.log = ""};
    drove_costs costs = {.line_ns = 60.0, .far_line_ns = 150.0};
    drove_virtual *on = make(3, &costs);
    costs.socket = 1;
    drove__virtual_set_costs(on, 2, &costs);
    (void)run_actors(on, 3, take_line, &s);
    assert_true(s.took_ns[0] == 0.0 && s.took_ns[1] == 60.0 && s.took_ns[2] == 150.0);
    assert_string_equal(s.log, "0@0 1@1060 2@2150 ");
    drove__virtual_destroy(on);
}

/* Walks through a vector, twice.  0 is there first and has no line to wait for.  1 asks at 20 and
 * begins at 80; 2, of another socket, at 40, and begins 150 behind that, at 230.  By then 1 has
 * asked again, at 80: the lines come back at 380, and to 2, which asks at 230, at 530. */
static void walk_twice(unsigned actor, void *context)
{
    scene *s = context;
    drove__virtual_spend(actor * 20.0);
    drove__spend_pass(s->vector);
    note(s, actor);
    drove__spend_pass(s->vector);
    note(s, actor);
}

TEST(walks_through_a_vector_begin_one_behind_the_other)
{
    scene s = {.log = ""};
    drove_costs costs = {.line_ns = 60.0, .far_line_ns = 150.0};
    drove_virtual *on = make(3, &costs);
    costs.socket = 1;
    drove__virtual_set_costs(on, 2, &costs);
    (void)run_actors(on, 3, walk_twice, &s);
    assert_string_equal(s.log, "0@0 0@0 1@80 2@230 1@380 2@530 ");
    drove__virtual_destroy(on);
}

/* 64 bytes.  0 writes; 1 of its socket reads and 2 of another; 0 writes again. */
static void take_bytes(unsigned actor, void *context)
{
    scene *s = context;
    drove__virtual_spend(actor * 1000.0);
    double begin = (double)drove__now_ns();
    if (actor == 0) drove__spend_update(16, drove__take(s->vector, 16, true));
    else drove__spend_copy(16, drove__take(s->vector, 16, false));
    s->took_ns[actor] = (double)drove__now_ns() - begin;
    if (actor != 0) return;
    drove__virtual_spend(5000.0);
    begin = (double)drove__now_ns();
    drove__virtual_stored(drove__virtual_loaded(64.0, drove__take(s->vector, 16, true)));
    s->took_ns[3] = (double)drove__now_ns() - begin;
}

TEST(bytes_of_others_cost_their_way)
{
    scene s = {.log = ""};
    s.vector = drove__alloc(64, sizeof(float));
    drove_costs costs = {.copy_ns = 2.0, .update_ns = 3.0, .take_ns = 5.0, .far_take_ns = 7.0};
    drove_virtual *on = make(3, &costs);
    costs.socket = 1;
    drove__virtual_set_costs(on, 2, &costs);
    (void)run_actors(on, 3, take_bytes, &s); /* without holders */
    assert_true(s.took_ns[0] == 192.0 && s.took_ns[1] == 128.0 && s.took_ns[3] == 192.0);
    assert_int_equal(drove__virtual_hold(on, 1, 256), DROVE_OK);
    (void)run_actors(on, 3, take_bytes, &s);
    assert_true(s.took_ns[0] == 192.0); /* nobody had it */
    assert_true(s.took_ns[1] == 128.0 + 320.0 && s.took_ns[2] == 128.0 + 448.0);
    assert_true(s.took_ns[3] == 192.0 + 448.0); /* waits for the farther one */
    drove__virtual_destroy(on);
    drove__free(s.vector);
}

/* Each has written 64 bytes, and then works while it takes its neighbour's. */
static void take_at_once(unsigned actor, void *context)
{
    scene *s = context;
    (void)drove__take(s->vector + 16 * actor, 16, true);
    drove__virtual_spend(1000.0 - actor); /* 2 begins first */
    double begin = (double)drove__now_ns();
    drove__virtual_work(100.0, drove__take(s->vector + 16 * ((actor + 1) % 3), 16, false));
    s->took_ns[actor] = (double)drove__now_ns() - begin;
}

/* Lines come while the work goes on, so all three take at once: the first at its own 5 ns a byte,
 * the second and third at 2 x 4 and 3 x 4, if the vector has no protection. */
TEST(who_race_for_lines_wait_for_each_other)
{
    scene s = {.log = ""};
    s.vector = drove__alloc(64, sizeof(float));
    drove_costs costs = {.take_ns = 5.0, .race_ns = 4.0};
    drove_virtual *on = make(3, &costs);
    assert_int_equal(drove__virtual_hold(on, 1, 256), DROVE_OK);
    (void)run_actors(on, 3, take_at_once, &s);
    for (int i = 0; i < 3; i++) assert_true(s.took_ns[i] == 100.0 + 64 * 5.0);
    assert_int_equal(drove__virtual_scratch(on, 64), DROVE_OK);
    for (int i = 0; i < 2; i++) { /* the second time nobody of the first counts any more */
        (void)run_actors(on, 3, take_at_once, &s);
        assert_true(s.took_ns[2] == 100.0 + 64 * 5.0 && s.took_ns[1] == 100.0 + 64 * 8.0);
        assert_true(s.took_ns[0] == 100.0 + 64 * 12.0);
    }
    drove__virtual_destroy(on);
    on =
        make(3, &costs); /* the third on a socket of its own shares with nobody; 0 is its other's */
    costs.socket = 1;
    costs.far_take_ns = 10.0;
    drove__virtual_set_costs(on, 1, &costs);
    assert_int_equal(drove__virtual_hold(on, 1, 256), DROVE_OK);
    assert_int_equal(drove__virtual_scratch(on, 64), DROVE_OK);
    (void)run_actors(on, 3, take_at_once, &s);
    assert_true(s.took_ns[1] == 100.0 + 64 * 10.0 && s.took_ns[2] == 100.0 + 64 * 5.0);
    drove__virtual_destroy(on);
    drove__free(s.vector);
}

static void load_and_store(unsigned actor, void *context)
{
    scene *s = context;
    double left = drove__virtual_loaded(100.0, 0.0); /* 300 ns, 40 of them the window */
    note(s, actor);
    drove__virtual_stored(left);
    note(s, actor);
}

TEST(a_window_is_part_of_its_update)
{
    scene s = {.log = ""};
    const drove_costs costs = {.update_ns = 3.0, .window_ns = 40.0};
    drove_virtual *on = make(1, &costs);
    (void)run_actors(on, 1, load_and_store, &s);
    assert_string_equal(s.log, "0@40 0@300 ");
    drove__virtual_destroy(on);
}

static void work(unsigned actor, void *context)
{
    for (int i = 0; i < 200; i++) drove__virtual_work(1000.0, 0.0);
    ((scene *)context)->took_ns[actor] = (double)drove__now_ns();
}

TEST(jitter_is_of_the_seed)
{
    scene s = {.log = ""}, again = {.log = ""};
    const drove_costs costs = {.jitter = 0.5};
    for (int i = 0; i < 2; i++) {
        drove_virtual *on = make(2, &costs);
        (void)run_actors(on, 2, work, i == 0 ? &s : &again);
        drove__virtual_destroy(on);
    }
    for (unsigned a = 0; a < 2; a++) {
        assert_true(s.took_ns[a] == again.took_ns[a]);
        /* Uniform in +-500 ns: standard error of the sum of 200 is 4082 ns; five of them. */
        assert_true(s.took_ns[a] > 179588.0 && s.took_ns[a] < 220412.0);
        assert_true(s.took_ns[a] != 200000.0);
    }
    assert_true(s.took_ns[0] != s.took_ns[1]);
}
