/* strategy/backoff.c - waiting after a failed attempt.
 *
 * Source: thesis section 2.2.3 and Algorithm 4 (section 3.5).  Linear and exponential: the first
 * wait is drawn at random below first_us, and each further one is longer by step_us, or twice as
 * long, up to max_us.  Random: each wait is drawn below max_us.  The numbers of one worker depend
 * on the seed and its number alone.
 *
 * A drove_backoff belongs to one worker.
 */
#include "base/clock.h"
#include "base/relax.h"
#include "base/cost.h"
#include "strategy/strategy.h"

#include <float.h>
#include <string.h>
#include <time.h>

#define SPIN_BELOW_NS 50000u /* the system's sleep overshoots by as much: shorter waits are spun */
#define MOST_US       1e6    /* one second: a longer wait is a mistake in the option */
#define LEAST_US      1e-3   /* so that doubling starts from something */

#define FIRST                                                                                      \
    {                                                                                              \
        "first_us", "1", DROVE_AS_REAL(drove_backoff, first_us, DBL_MIN, MOST_US),                 \
            .help = "the first wait is below it"                                                   \
    }
#define MOST                                                                                       \
    {                                                                                              \
        "max_us", "100", DROVE_AS_REAL(drove_backoff, max_us, DBL_MIN, MOST_US),                   \
            .help = "longest wait"                                                                 \
    }
static const drove_spec_key linear_keys[] = {
    FIRST,
    {"step_us", "1", DROVE_AS_REAL(drove_backoff, step_us, 0.0, MOST_US),
     .help = "a wait is longer by this than the one before"},
    MOST,
    DROVE_SPEC_END,
};
static const drove_spec_key exponential_keys[] = {
    FIRST,
    MOST,
    DROVE_SPEC_END,
};
static const drove_spec_key random_keys[] = {
    MOST,
    DROVE_SPEC_END,
};

const drove_named drove__backoffs[] = {
    {"none", "no back-off: wait in the lock itself, or try again at once",
     "thesis Algorithms 2 and 3", NULL},
    {"linear", "first below first_us, then step_us more each time up to max_us",
     "thesis section 3.5, Algorithm 4", linear_keys},
    {"exponential", "first below first_us, then twice as long each time up to max_us",
     "thesis section 3.5, Algorithm 4", exponential_keys},
    {"random", "each time anew, below max_us", "thesis section 3.5, Algorithm 4", random_keys},
    {NULL, NULL, NULL, NULL},
};

static drove_status find_kind(const char *name, drove_backoff_kind *kind)
{
    const char *names[DROVE_COUNT(drove__backoffs) - 1];
    for (size_t i = 0; i < DROVE_COUNT(names); i++) {
        names[i] = drove__backoffs[i].name;
        if (strcmp(name, names[i]) == 0) {
            *kind = (drove_backoff_kind)i;
            return DROVE_OK;
        }
    }
    const char *near = drove__nearest(name, names, DROVE_COUNT(names));
    return drove__fail(DROVE_E_ARG,
                       "back-off: expected none, linear, exponential or random, found \"%s\"%s%s%s",
                       name, near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                       near != NULL ? "?" : "");
}

drove_status drove__backoff_init(drove_backoff *b, const char *spec, uint64_t seed, unsigned worker)
{
    drove_backoff made = {.kind = DROVE_BACKOFF_NONE};
    drove_spec parsed;
    DROVE_TRY(drove__spec_parse(spec, &parsed));
    drove_status status = find_kind(parsed.name, &made.kind);
    if (status == DROVE_OK)
        status = drove__spec_read(&parsed, drove__backoffs[made.kind].keys, &made);
    if (status == DROVE_OK && made.first_us > made.max_us)
        status =
            drove__fail(DROVE_E_ARG, "back-off %s: expected first_us up to max_us = %g, found %g",
                        parsed.name, made.max_us, made.first_us);
    drove__spec_fini(&parsed);
    DROVE_TRY(status);
    drove__rng_seed(&made.rng, seed, DROVE_RNG_BACKOFF, worker);
    *b = made;
    return DROVE_OK;
}

void drove__backoff_begin(drove_backoff *b)
{
    b->next_us = 0.0;
}

/* The next wait, in microseconds. */
static double next_wait(drove_backoff *b)
{
    if (b->kind == DROVE_BACKOFF_RANDOM) return b->max_us * drove__rng_uniform(&b->rng);
    if (b->next_us <= 0.0) {
        b->next_us = b->first_us * drove__rng_uniform(&b->rng);
        if (b->next_us < LEAST_US) b->next_us = LEAST_US;
    }
    double wait_us = b->next_us < b->max_us ? b->next_us : b->max_us;
    b->next_us = b->kind == DROVE_BACKOFF_LINEAR ? wait_us + b->step_us : wait_us * 2.0;
    return wait_us;
}

uint64_t drove__backoff_wait(drove_backoff *b)
{
    if (b->kind == DROVE_BACKOFF_NONE) return 0;
    uint64_t wait_ns = (uint64_t)(next_wait(b) * 1e3);
    uint64_t begin_ns = drove__now_ns(), now_ns = begin_ns;
    if (drove__spend_rest((double)wait_ns)) return drove__now_ns() - begin_ns;
    if (wait_ns >= SPIN_BELOW_NS) {
        struct timespec rest = {.tv_sec = (time_t)(wait_ns / 1000000000u),
                                .tv_nsec = (long)(wait_ns % 1000000000u)};
        (void)nanosleep(
            &rest, NULL); /* a signal may end it early: the next attempt comes sooner, no more */
        return drove__now_ns() - begin_ns;
    }
    while (now_ns - begin_ns < wait_ns) {
        drove__relax();
        now_ns = drove__now_ns();
    }
    return now_ns - begin_ns;
}
