/* A team: between two meetings every part sees what all parts wrote before the first of them, jobs
 * are done once by each part, and a member that cannot be bound is an error.  Plain memory on
 * purpose: ThreadSanitizer sees a meeting that does not order. */
#define _GNU_SOURCE /* the default attributes of threads */
#include "engine/host/team.h"
#include "support/test.h"

#include "base/racy.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PARTS = 5, ROUNDS = DROVE_TSAN ? 100 : 250 };

typedef struct table {
    unsigned n_parts;
    unsigned rounds;
    uint64_t slot[MOST_PARTS]; /* written by its part, read by all after a meeting */
    uint64_t wrong[MOST_PARTS];
    unsigned n_jobs[MOST_PARTS];
} table;

static void write_and_read(void *context, const drove_part *part)
{
    table *t = context;
    t->n_jobs[part->part]++;
    for (unsigned r = 0; r < t->rounds; r++) {
        t->slot[part->part] += part->part + 1;
        part->meet(part->context, part->part);
        uint64_t sum = 0, expected = 0;
        for (unsigned i = 0; i < t->n_parts; i++) {
            sum += t->slot[i];
            expected += t->slot[part->part] / (part->part + 1) * (i + 1);
        }
        t->wrong[part->part] += sum != expected;
        part->meet(part->context, part->part);
    }
}

TEST(every_part_sees_what_all_wrote)
{
    for (unsigned n = 2; n <= MOST_PARTS; n++) {
        table t = {.n_parts = n, .rounds = ROUNDS / n};
        drove_team *team;
        assert_int_equal(drove__team_create(n, NULL, NULL, &team), DROVE_OK);
        for (int job = 0; job < 20; job++) drove__team_run(team, write_and_read, &t);
        drove__team_destroy(team);
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(t.n_jobs[i], 20);
            assert_int_equal(t.slot[i], (uint64_t)20 * t.rounds * (i + 1));
            assert_int_equal(t.wrong[i], 0);
        }
    }
}

static drove_status refuse_second(void *context, unsigned part)
{
    unsigned *n_bound = context;
    if (part == 2) return drove__fail(DROVE_E_SYSTEM, "no processor for part %u", part);
    __atomic_fetch_add(n_bound, 1, __ATOMIC_RELAXED);
    return DROVE_OK;
}

TEST(a_member_that_cannot_be_bound_is_an_error)
{
    drove_team *team = NULL;
    unsigned n_bound = 0;
    assert_int_equal(drove__team_create(4, refuse_second, &n_bound, &team), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), "no processor for part 2");
    assert_null(team);
    assert_int_equal(n_bound, 2); /* parts 1 and 3: the owner binds itself */
}

/* From now on no thread can be started: its stack would be larger than all addresses.  The members
 * that there are come late to their first meeting, where one that was never started is missed. */
static drove_status take_the_room(void *context, unsigned part)
{
    pthread_attr_t *huge = context;
    int error = part == 1 ? pthread_setattr_default_np(huge) : 0;
    usleep(20000);
    return error == 0 ? DROVE_OK : drove__fail(DROVE_E_SYSTEM, "no default of threads");
}

TEST(a_member_that_cannot_be_started_is_an_error)
{
    enum { MANY = 400 };
    pthread_attr_t usual, huge;
    drove_team *team = NULL;
    drove_status status = DROVE_OK;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_getattr_default_np(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 56), 0);
    /* again where all were started before member 1 came to run */
    for (unsigned i = 0; i < 50 && status == DROVE_OK; i++) {
        drove__team_destroy(team);
        team = NULL;
        status = drove__team_create(MANY, take_the_room, &huge, &team);
        assert_int_equal(pthread_setattr_default_np(&usual), 0);
    }
    assert_int_equal(status, DROVE_E_SYSTEM);
    assert_non_null(strstr(drove_error_text(), "of a team of 400"));
    assert_null(team);
    pthread_attr_destroy(&usual);
    pthread_attr_destroy(&huge);
}
