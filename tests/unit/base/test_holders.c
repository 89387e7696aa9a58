/* Which cores have which cache lines: what each has to take, by hand. */
#include "base/holders.h"
#include "base/mem.h"
#include "support/test.h"

#include <string.h>

enum { LINE = 64, N_LINES = 40 };

static const unsigned sockets[] = {0, 0, 1, 1};

static drove_holders *make(unsigned n_cores, const unsigned *socket)
{
    drove_holders *h;
    assert_int_equal(drove__holders_create(n_cores, socket, 1, (size_t)N_LINES * LINE, &h),
                     DROVE_OK);
    return h;
}

/* Lines [first, first + n) of a memory. */
static void expect(drove_holders *h, unsigned core, const char *memory, size_t first, size_t n,
                   bool writes, size_t near, size_t far)
{
    drove_taken t = drove__holders_take(h, core, memory + first * LINE, n * LINE, writes);
    assert_true(t.near == (double)(near * LINE) && t.far == (double)(far * LINE));
}

TEST(a_reader_needs_a_copy_and_a_writer_the_only_one)
{
    char *m = drove__alloc(N_LINES, LINE);
    drove_holders *h = make(4, sockets);
    expect(h, 0, m, 0, N_LINES, true, 0, 0); /* nobody had them */
    expect(h, 0, m, 0, N_LINES, false, 0, 0);
    expect(h, 1, m, 3, 20, false, 20, 0);
    expect(h, 1, m, 3, 20, false, 0, 0);
    expect(h, 0, m, 0, N_LINES, false, 0, 0); /* both have 20 of them */
    expect(h, 0, m, 0, N_LINES, true, 20, 0); /* which 1 gives up */
    expect(h, 0, m, 0, N_LINES, true, 0, 0);
    expect(h, 1, m, 0, N_LINES, true, N_LINES, 0); /* all of them */
    expect(h, 0, m, 5, 1, false, 1, 0);
    drove__holders_destroy(h);
    drove__free(m);
}

TEST(readers_ask_the_nearest_and_writers_wait_for_the_farthest)
{
    char *m = drove__alloc(N_LINES, LINE);
    drove_holders *h = make(4, sockets);
    expect(h, 0, m, 0, 10, true, 0, 0);
    expect(h, 2, m, 0, 10, false, 0, 10); /* 0 alone has them, on another socket */
    expect(h, 3, m, 0, 10, false, 10, 0); /* 2 beside it */
    expect(h, 0, m, 0, 10, true, 0, 10);
    expect(h, 1, m, 0, 5, false, 5, 0);
    expect(h, 0, m, 0, 10, true, 5, 0); /* 2 and 3 have none any more */
    drove__holders_destroy(h);
    drove__free(m);
}

TEST(lines_are_taken_whole)
{
    char *m = drove__alloc(N_LINES, LINE);
    drove_holders *h = make(4, sockets);
    expect(h, 0, m, 0, N_LINES, true, 0, 0);
    drove_taken t = drove__holders_take(h, 1, m + LINE - 4, 8, false);
    assert_true(t.near == 2.0 * LINE && t.far == 0.0);
    t = drove__holders_take(h, 1, m, 2 * LINE, false); /* it has both */
    assert_true(t.near == 0.0);
    t = drove__holders_take(h, 1, m + 4 * LINE, 0, false);
    assert_true(t.near == 0.0);
    t = drove__holders_take(h, 1, m + 4 * LINE, 4, false); /* still to be taken */
    assert_true(t.near == LINE);
    drove__holders_destroy(h);
    drove__free(m);
}

/* Beyond 64 cores a line has several words of bits. */
TEST(many_cores)
{
    enum { N = 130 };
    unsigned socket[N];
    char *m = drove__alloc(N_LINES, LINE);
    for (unsigned i = 0; i < N; i++) socket[i] = i / 65;
    drove_holders *h = make(N, socket);
    expect(h, 128, m, 0, 17, true, 0, 0);
    expect(h, 129, m, 0, 17, false, 17, 0);
    expect(h, 64, m, 0, 17, false, 0, 17);
    expect(h, 1, m, 0, 17, false, 17, 0);
    expect(h, 129, m, 0, 1, true, 0, 1);
    expect(h, 128, m, 0, 17, false, 1, 0);
    drove__holders_destroy(h);
    drove__free(m);
}

/* What finds no room is nobody's, and the rest is as it was. */
TEST(a_full_table_keeps_what_it_has)
{
    enum { MANY = 1000 };
    char *m = drove__alloc(MANY, LINE);
    drove_holders *h = make(4, sockets);
    expect(h, 0, m, 0, MANY, true, 0, 0);
    drove_taken t = drove__holders_take(h, 1, m, (size_t)MANY * LINE, false);
    assert_true(t.near >= N_LINES * LINE && t.near < MANY * LINE && t.far == 0.0);
    expect(h, 1, m, 0, N_LINES, true, N_LINES, 0);
    expect(h, 0, m, 0, N_LINES, false, N_LINES, 0);
    drove__holders_destroy(h);
    drove__holders_destroy(NULL);
    drove__free(m);
}

TEST(a_table_larger_than_memory_is_refused)
{
    drove_holders *h = (drove_holders *)sockets;
    assert_int_equal(drove__holders_create(4, sockets, 1, (size_t)1 << 50, &h), DROVE_E_NOMEM);
    assert_null(h);
    assert_non_null(strstr(drove_error_text(), "take_gb_s"));
}
