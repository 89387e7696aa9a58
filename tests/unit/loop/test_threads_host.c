/* Which workers a host of threads lets take part in a virtual clock: those that are here and not
 * silent, and no other.  The linker puts the functions below in the place of the clock's and of the
 * allocator, so no thread runs, and what lies behind an array is not 0.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: wraps=drove__alloc,drove__clock_cond_wake,drove__virtual_begin,drove__virtual_admit */
#include "loop/host.h"
#include "support/test.h"

#include "base/mem.h"

#include <string.h>

#include "support/no_memory.h"

enum { WORKERS = 5, FIRST = 1, HERE = 4, BEHIND = 16 };

static unsigned admitted[2 * WORKERS], n_admitted, n_begun, n_woken;

void __wrap_drove__virtual_begin(drove_virtual *v);
void __wrap_drove__virtual_admit(drove_virtual *v, unsigned actor);
void __wrap_drove__clock_cond_wake(pthread_cond_t *cond);
void *__wrap_drove__alloc(size_t count, size_t size_bytes);
void *__real_drove__alloc(size_t count, size_t size_bytes);

void __wrap_drove__virtual_begin(drove_virtual *v)
{
    (void)v;
    n_begun++;
}

void __wrap_drove__virtual_admit(drove_virtual *v, unsigned actor)
{
    (void)v;
    if (n_admitted < 2 * WORKERS) admitted[n_admitted++] = actor;
}

void __wrap_drove__clock_cond_wake(pthread_cond_t *cond)
{
    (void)cond;
    n_woken++;
}

void *__wrap_drove__alloc(size_t count, size_t size_bytes)
{
    char *memory = __real_drove__alloc(count * size_bytes + BEHIND, 1);
    if (memory != NULL) memset(memory + count * size_bytes, 1, BEHIND);
    return memory;
}

typedef struct rig {
    drove_plan plan;
    drove_loop loop;
    drove_worker worker[WORKERS];
    drove_host host;
    char on; /* only its address is used */
} rig;

static void lay_out(rig *r, unsigned first, unsigned n_here)
{
    memset(r, 0, sizeof *r);
    r->plan = (drove_plan){.n_workers = WORKERS, .first_here = first, .n_here = n_here};
    r->loop.plan = &r->plan;
    r->loop.clock = &drove__clock_real;
    r->loop.on = (drove_virtual *)&r->on;
    r->loop.worker = r->worker;
    r->loop.host = &r->host;
    r->host = (drove_host){.ops = &drove__host_threads, .loop = &r->loop};
}

static void open_rig(rig *r, unsigned first, unsigned n_here)
{
    lay_out(r, first, n_here);
    assert_int_equal(r->host.ops->init(&r->host), DROVE_OK);
    n_admitted = n_begun = 0;
}

TEST(those_here_take_part)
{
    static const struct {
        unsigned first, n_here;
    } cases[] = {{FIRST, HERE}, {0, WORKERS}, {1, 2}, {3, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig r;
        open_rig(&r, cases[i].first, cases[i].n_here);
        r.host.ops->go(&r.host, DROVE_DO_TRAIN);
        assert_int_equal(n_begun, 1);
        assert_int_equal(n_admitted, cases[i].n_here);
        for (unsigned k = 0; k < n_admitted; k++) assert_int_equal(admitted[k], cases[i].first + k);
        r.host.ops->fini(&r.host);
    }
}

TEST(silent_ones_do_not)
{
    rig r;
    open_rig(&r, FIRST, HERE);
    atomic_store(&r.worker[2].health.is_silent, true);
    r.host.ops->go(&r.host, DROVE_DO_PROBE);
    static const unsigned expected[] = {1, 3, 4};
    assert_int_equal(n_admitted, 3);
    assert_memory_equal(admitted, expected, sizeof expected);
    r.host.ops->fini(&r.host);
}

/* The controlling thread is woken when nobody is left to wait for. */
TEST(the_last_one_to_fall_silent_wakes)
{
    rig r;
    open_rig(&r, FIRST, HERE);
    r.host.ops->go(&r.host, DROVE_DO_TRAIN);
    n_woken = 0;
    for (unsigned i = FIRST; i < FIRST + HERE; i++) {
        assert_int_equal(n_woken, 0);
        r.host.ops->silence(&r.host, i);
        r.host.ops->silence(&r.host, i); /* it is already */
    }
    assert_int_equal(n_woken, 1);
    r.host.ops->fini(&r.host);
}

/* An evaluation is outside the clock. */
TEST(evaluations_take_no_virtual_time)
{
    rig r;
    open_rig(&r, FIRST, HERE);
    r.host.ops->go(&r.host, DROVE_DO_SCORE);
    assert_int_equal(n_begun, 0);
    assert_int_equal(n_admitted, 0);
    r.host.ops->fini(&r.host);
}

/* Each allocation of a host fails in turn, and then none. */
TEST(no_memory_stays)
{
    unsigned long n = 1;
    if (!no_memory_works()) skip();
    for (bool has_failed = true; has_failed; n++) {
        rig r;
        lay_out(&r, FIRST, HERE);
        no_memory_begin(n);
        const drove_status status = r.host.ops->init(&r.host);
        has_failed = no_memory_end();
        assert_int_equal(status, has_failed ? DROVE_E_NOMEM : DROVE_OK);
        r.host.ops->fini(&r.host); /* also where there is nothing at all */
        assert_int_equal(no_memory_live(), 0);
    }
    assert_int_equal(n, 5 + 2); /* the host and four arrays; then one that all had */
}
