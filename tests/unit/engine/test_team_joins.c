/* A team ends the threads that it started, and waits for each of them once.  The linker puts the
 * function below in the place of pthread_join.
 *
 * ctest: wraps=pthread_join */
#include "engine/host/team.h"
#include "support/test.h"

#include <pthread.h>

enum { MOST_PARTS = 4 };

static pthread_t joined[2 * MOST_PARTS];
static unsigned n_joined;

int __wrap_pthread_join(pthread_t thread, void **result);
int __real_pthread_join(pthread_t thread, void **result);

int __wrap_pthread_join(pthread_t thread, void **result)
{
    if (n_joined < 2 * MOST_PARTS) joined[n_joined++] = thread;
    return __real_pthread_join(thread, result);
}

static void note(void *context, const drove_part *part)
{
    pthread_t *thread = context;
    thread[part->part] = pthread_self();
}

TEST(each_thread_is_waited_for_once)
{
    for (unsigned n = 1; n <= MOST_PARTS; n++) {
        pthread_t thread[MOST_PARTS];
        drove_team *team;
        n_joined = 0;
        assert_int_equal(drove__team_create(n, NULL, NULL, &team), DROVE_OK);
        drove__team_run(team, note, thread);
        drove__team_destroy(team);
        assert_true(pthread_equal(thread[0], pthread_self())); /* part 0 is the caller's */
        assert_int_equal(n_joined, n - 1);
        for (unsigned i = 1; i < n; i++) assert_true(pthread_equal(joined[i - 1], thread[i]));
    }
}

static drove_status refuse_last(void *context, unsigned part)
{
    (void)context;
    return part + 1 < MOST_PARTS ? DROVE_OK : drove__fail(DROVE_E_SYSTEM, "no part %u", part);
}

TEST(so_it_is_where_one_cannot_be_bound)
{
    drove_team *team;
    n_joined = 0;
    assert_int_equal(drove__team_create(MOST_PARTS, refuse_last, NULL, &team), DROVE_E_SYSTEM);
    assert_null(team);
    assert_int_equal(n_joined, MOST_PARTS - 1);
}
