/* Algorithm 2, line by line: the trace of (b, u) of each worker against tables that were computed
 * by hand from the algorithm.
 *
 * The rule, at the request of a worker with u updates, of which all others that are not lost have
 * between min and max:   u < min: b = max(b / alpha, min_b);   u > max: b = min(b alpha, max_b).
 */
#include "support.h"

#include "base/mem.h"
#include "coord/policy.h"

typedef struct request {
    unsigned worker;
    double u;       /* after what it has just done */
    uint64_t batch; /* that it then gets */
    uint64_t first; /* the position at which this begins */
} request;

static void follow(hand *h, const request *table, size_t n, const uint64_t *n_updates)
{
    for (size_t i = 0; i < n; i++) {
        const request *r = &table[i];
        hand_done(h, r->worker, n_updates[r->worker], 1000);
        drove_coord_facts facts = hand_facts(h, r->worker);
        if (facts.u != r->u || facts.batch != r->batch || h->n_last != 1 ||
            h->last[0].range.n != r->batch || h->last[0].range.first != r->first)
            fail_msg("request %zu: u %g, b %llu, given %llu from %llu", i + 1, facts.u,
                     (unsigned long long)facts.batch, (unsigned long long)h->last[0].range.n,
                     (unsigned long long)h->last[0].range.first);
    }
}

enum { S, F };

/* Two workers, alpha 2.  S: b = 8 in 2..64.  F: b = 8 in 4..16.  Each batch is one update.
 * OPEN gives S positions 0..7 and F 8..15; the next free one is 16. */
static const request two_workers[] = {
    {F, 1, 16, 16},  /* 1 > 0: 8 x 2 */
    {F, 2, 16, 32},  /* 2 > 0: 32, at most 16 */
    {F, 3, 16, 48},  /* 3 > 0: the same */
    {S, 1, 4, 64},   /* 1 < 3: 8 / 2 */
    {F, 4, 16, 68},  /* 4 > 1 */
    {S, 2, 2, 84},   /* 2 < 4: 4 / 2 */
    {S, 3, 2, 86},   /* 3 < 4: 1, at least 2 */
    {S, 4, 2, 88},   /* 4 = 4: as it is */
    {S, 5, 4, 90},   /* 5 > 4: 2 x 2 */
    {F, 5, 16, 94},  /* 5 = 5 */
    {S, 6, 8, 110},  /* 6 > 5: 4 x 2 */
    {F, 6, 16, 118}, /* 6 = 6 */
    {F, 7, 16, 134}, /* 7 > 6 */
    {S, 7, 8, 150},  /* 7 = 7 */
    {S, 8, 16, 158}, /* 8 > 7: 8 x 2 */
    {F, 8, 16, 174}, /* 8 = 8 */
    {F, 9, 16, 190}, /* 9 > 8 */
    {F, 10, 16, 206},
    {S, 9, 8, 222}, /* 9 < 10: 16 / 2.  (With a min_u that was kept, this would stay 16.) */
    {F, 11, 16, 230},
    {S, 10, 4, 246}, /* 10 < 11: 8 / 2 */
};

TEST(two_workers_follow_the_table)
{
    drove_coord_worker workers[] = {a_worker("S", 2, 8, 64), a_worker("F", 4, 8, 16)};
    hand *h = hand_create(&(drove_coord_options){.policy = &drove__policy_adaptive,
                                                 .alpha = 2.0,
                                                 .n_rows = 10000,
                                                 .n_workers = 2,
                                                 .worker = workers});
    hand_open(h, 10000);
    assert_int_equal(h->n_last, 2);
    assert_int_equal(h->last[S].range.first, 0);
    assert_int_equal(h->last[F].range.first, 8);
    follow(h, two_workers, DROVE_COUNT(two_workers), (uint64_t[]){1, 1});
    hand_destroy(h);
}

enum { C, G, H };

/* Three workers, alpha 2.  C has four threads and a survival of 1/2, so a batch of it counts 2;
 * b = 4 in 4..256.  G: b = 64 in 16..64.  H: b = 32 in 16..64.
 * OPEN gives C positions 0..3, G 4..67, H 68..99; the next free one is 100. */
static const request three_workers[] = {
    {C, 2, 8, 100},  /* 2 > max(0, 0): 4 x 2 */
    {C, 4, 16, 108}, /* 4 > 0 */
    {G, 1, 64, 124}, /* others 4, 0: in between */
    {H, 1, 32, 188}, /* others 4, 1: not below 1 */
    {H, 2, 32, 220}, /* others 4, 1 */
    {G, 2, 64, 252}, /* others 4, 2: not below 2 */
    {C, 6, 32, 316}, /* 6 > 2 */
    {H, 3, 32, 348}, /* others 6, 2 */
    {G, 3, 64, 380}, /* others 6, 3 */
    {G, 4, 64, 444}, /* others 6, 3 */
    {G, 5, 64, 508}, /* others 6, 3 */
    {H, 4, 16, 572}, /* others 6, 5: 4 < 5: 32 / 2 */
    {H, 5, 16, 588}, /* others 6, 5: not below 5 */
};

/* Then C is lost, and its 6 with it: G and H have 5 and 5.  The 32 examples that C had in hand,
 * from 316 on, go to who asks next, in pieces of its b. */
static const request after_the_loss[] = {
    {H, 6, 32, 604},  /* 6 > 5, where 6 was not above C's 6: 16 x 2; see below for the range */
    {G, 6, 64, 636},  /* 6 = 6 */
    {G, 7, 64, 700},  /* 7 > 6: 128, at most 64 */
    {G, 8, 64, 764},  /* 8 > 6 */
    {H, 7, 16, 828},  /* 7 < 8: 32 / 2 */
    {H, 8, 16, 844},  /* 8 = 8 */
    {H, 9, 32, 860},  /* 9 > 8 */
    {H, 10, 64, 892}, /* 10 > 8 */
};

TEST(three_workers_follow_the_table)
{
    drove_coord_worker workers[] = {a_worker("C", 4, 4, 256), a_worker("G", 16, 64, 64),
                                    a_worker("H", 16, 32, 64)};
    workers[C].survival = 0.5;
    hand *h = hand_create(&(drove_coord_options){.policy = &drove__policy_adaptive,
                                                 .alpha = 2.0,
                                                 .n_rows = 10000,
                                                 .n_workers = 3,
                                                 .worker = workers});
    const uint64_t n_updates[] = {4, 1, 1};
    hand_open(h, 10000);
    follow(h, three_workers, DROVE_COUNT(three_workers), n_updates);
    hand_fail(h, C);
    assert_int_equal(h->n_retired, 1);
    hand_done(h, H, 1, 1000); /* u 6: b 32, and the 32 of C first */
    assert_int_equal(hand_facts(h, H).batch, 32);
    assert_int_equal(h->last[0].range.first, 316);
    assert_int_equal(h->last[0].range.n, 32);
    request next[DROVE_COUNT(after_the_loss)];
    for (size_t i = 1; i < DROVE_COUNT(next); i++) { /* all others are 32 earlier for that */
        next[i] = after_the_loss[i];
        next[i].first -= 32;
    }
    follow(h, next + 1, DROVE_COUNT(next) - 1, n_updates);
    hand_destroy(h);
}

static uint64_t next_of(double alpha, uint64_t batch, double u)
{
    drove_policy_view view = {.alpha = alpha,
                              .u = u,
                              .min_u = 10,
                              .max_u = 20,
                              .n_others = 2,
                              .batch = batch,
                              .least = 1,
                              .most = 1000};
    return drove__policy_adaptive.next(&view);
}

/* alpha 1.5: 10, 15, 22.5, 34.5, ... and back; halves are rounded up. */
TEST(sizes_are_whole_examples)
{
    static const uint64_t up[] = {10, 15, 23, 35, 53}, down[] = {53, 35, 23, 15, 10, 7, 5, 3, 2, 1};
    for (size_t i = 0; i + 1 < DROVE_COUNT(up); i++)
        assert_int_equal(next_of(1.5, up[i], 21), up[i + 1]);
    for (size_t i = 0; i + 1 < DROVE_COUNT(down); i++)
        assert_int_equal(next_of(1.5, down[i], 9), down[i + 1]);
    assert_int_equal(next_of(1.5, 1, 9), 1);
    assert_int_equal(next_of(1.5, 900, 21), 1000);
    for (double u = 10; u <= 20; u++) assert_int_equal(next_of(1.5, 10, u), 10);
}

/* Rounding must not leave a small size as it is for ever. */
TEST(a_small_factor_moves_a_small_size)
{
    assert_int_equal(next_of(1.01, 10, 21), 11);
    assert_int_equal(next_of(1.01, 10, 9), 9);
    assert_int_equal(next_of(1.01, 200, 21), 202);
}

TEST(a_worker_alone_keeps_its_size)
{
    drove_policy_view view = {
        .alpha = 2, .u = 5, .min_u = 9, .max_u = 1, .batch = 8, .least = 1, .most = 64};
    assert_int_equal(drove__policy_adaptive.next(&view), 8);
}

TEST(fixed_keeps_every_size)
{
    drove_coord_worker workers[] = {a_worker("S", 2, 8, 64), a_worker("F", 4, 8, 16)};
    hand *h = hand_create(&(drove_coord_options){.policy = &drove__policy_fixed,
                                                 .alpha = 2.0,
                                                 .n_rows = 1000,
                                                 .n_workers = 2,
                                                 .worker = workers});
    hand_open(h, 1000);
    for (int i = 0; i < 20; i++) {
        hand_done(h, F, 1, 10);
        assert_int_equal(h->last[0].range.n, 8);
    }
    hand_done(h, S, 1, 10);
    assert_int_equal(h->last[0].range.n, 8);
    hand_destroy(h);
}
