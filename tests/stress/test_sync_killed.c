/* Workers that are processes, one of which is killed at a random moment: the others take all their
 * steps, and what is in the parameters is what was published, but for at most the step that the
 * killed worker was making.
 *
 * Every strategy that processes can share and that goes on without a lost worker; of those that
 * exchange by messages test_exchanges.c has the transport's part. */
#define _GNU_SOURCE
#include "support/strategies.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { T = 3, N = DROVE_TSAN ? 4000 : 20000, STEPS = 200, KILLS = 12 };

static float ones[N];

/* A process of its own; the victim goes on until it is killed. */
static void take_steps(rig *r, unsigned worker, bool is_victim)
{
    for (unsigned i = 0; i < STEPS || is_victim; i++)
        if (take_step(r, worker, ones, 1.0f, NULL, NULL) != DROVE_OK) _exit(1);
    _exit(0);
}

static void start_all(rig *r, unsigned victim, pid_t child[T])
{
    for (unsigned w = 0; w < T; w++) {
        child[w] = fork();
        assert_true(child[w] >= 0);
        if (child[w] == 0) take_steps(r, w, w == victim);
    }
}

static void kill_one(drove_sync *s, pid_t child, unsigned victim, unsigned after_us)
{
    int status;
    rest_us(after_us);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    s->ops->leave(s, victim);
}

static void all_others_finish(const pid_t child[T], unsigned victim, const char *variant)
{
    for (unsigned w = 0; w < T; w++) {
        int status;
        if (w == victim) continue;
        assert_int_equal(waitpid(child[w], &status, 0), child[w]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("%s: worker %u did not finish its steps", variant, w);
    }
}

/* Each update moves each element by 1, so theta is -published; the step that was being made may be
 * there in part: of it, or of the group of contributions that it was in. */
static void check_sum(drove_sync *s, const char *variant)
{
    const float *theta = s->ops->peek(s).theta;
    double published = (double)atomic_load(&s->published);
    for (unsigned j = 0; j < N; j++) {
        double extra = -(double)theta[j] - published;
        if (extra < 0.0 || extra > 1.0)
            fail_msg("%s: element %u is %.2f after %.0f updates", variant, j, (double)theta[j],
                     published);
    }
}

static void goes_on(const drove_sync_ops *ops, const char *variant)
{
    if (drove__sync_places(ops)->not_procs != NULL || ops->leave == NULL) return;
    if ((ops->needs & (DROVE_SYNC_SPREAD | DROVE_SYNC_ONE)) != 0) return;
    drove_rng rng;
    drove__rng_seed(&rng, 3, DROVE_RNG_TEST, 0);
    for (unsigned i = 0; i < KILLS / (DROVE_TSAN ? 4 : 1); i++) {
        rig r;
        pid_t child[T];
        unsigned victim = i % T;
        drove__memory_share_begin();
        rig_init(&r, (rig_options){.variant = variant, .ops = ops, .n = N, .n_workers = T});
        start_all(&r, victim, child);
        kill_one(r.sync, child[victim], victim, (unsigned)drove__rng_below(&rng, 8000));
        all_others_finish(child, victim, variant);
        if ((r.sync->promises & DROVE_SYNC_NO_LOSS) != 0 &&
            (r.sync->needs & DROVE_SYNC_OWN_VECTOR) == 0)
            check_sum(r.sync, variant);
        rig_fini(&r);
        drove__memory_share_end();
    }
    printf("%-22s the others finished %u times\n", variant, KILLS);
}

TEST(a_killed_worker_holds_up_nobody)
{
    for (unsigned j = 0; j < N; j++) ones[j] = 1.0f;
    for_each_variant(goes_on);
}
