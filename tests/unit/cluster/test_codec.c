/* test_codec.c - sums in fewer bits: signatures, slices, an all-reduce by hand and over the
 * transport; all workers get equal bits, and residuals hold all that was rounded away. */
#include "cluster/codec.h"
#include "cluster/tree.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/racy.h"
#include "base/rng.h"
#include "crowd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 9, TIMES = DROVE_TSAN ? 3 : 8, N = (DROVE_TSAN ? 1 : 3) * 16384 + 700 };

TEST(signatures_have_a_communication_precision)
{
    static const struct {
        const char *text;
        unsigned bits;
    } good[] = {{"", 32},     {"C32f", 32}, {"C32", 32},         {"D8M8", 32},
                {"C16s", 16}, {"C8s", 8},   {"8s", 8},           {"C1s", 1},
                {"G1C1s", 1}, {"G8C8", 8},  {"D32fM32fC16s", 16}};
    for (size_t i = 0; i < DROVE_COUNT(good); i++) {
        unsigned bits = 0;
        assert_int_equal(drove__codec_parse(good[i].text, &bits), DROVE_OK);
        assert_int_equal(bits, good[i].bits);
    }
    static const char *const bad[] = {"C4s", "C", "C8x", "C16f", "C8sC8s", "7"};
    for (size_t i = 0; i < DROVE_COUNT(bad); i++) {
        unsigned bits = 77;
        assert_int_equal(drove__codec_parse(bad[i], &bits), DROVE_E_ARG);
        assert_int_equal(bits, 77);
        assert_non_null(strstr(drove_error_text(), "expected C32f, C16s, C8s or C1s"));
    }
}

static drove_codec *open_codec(unsigned bits, size_t n, unsigned n_workers, unsigned worker)
{
    const drove_codec_options opt = {.bits = bits,
                                     .n = n,
                                     .n_workers = n_workers,
                                     .worker = worker,
                                     .seed = 7,
                                     .kernels = crowd_kernels()};
    drove_codec *codec = NULL;
    assert_int_equal(drove__codec_create(&opt, &codec), DROVE_OK);
    return codec;
}

TEST(slices_cover_the_vector_once)
{
    static const size_t length[] = {1, 511, 512, 513, 5000, 100000};
    for (unsigned n_workers = 1; n_workers <= MOST; n_workers++) {
        for (size_t i = 0; i < DROVE_COUNT(length); i++) {
            drove_codec *codec = open_codec(8, length[i], n_workers, 0);
            size_t at = 0;
            for (unsigned w = 0; w < n_workers; w++) {
                size_t first, n, end;
                drove__codec_slice(codec, w, &first, &n);
                assert_int_equal(first, at);
                assert_true(first % DROVEK_CODE_BLOCK == 0 || first == length[i]);
                if (n > 0) {
                    assert_int_equal(drove__codec_owner(codec, first, &end), w);
                    assert_int_equal(end, first + n);
                    assert_int_equal(drove__codec_owner(codec, first + n - 1, &end), w);
                }
                at += n;
            }
            assert_int_equal(at, length[i]);
            drove__codec_destroy(codec);
        }
    }
}

/* A saved state has a worker's slice, so who has which is a format: blocks times worker over
 * workers, without the rest, by hand. */
TEST(slices_are_where_saved_states_have_them)
{
    static const struct {
        size_t blocks, rest, size[3]; /* in blocks; the last has the rest beyond whole ones */
    } known[] = {{8, 0, {2, 3, 3}}, {7, DROVEK_CODE_BLOCK - 1, {2, 3, 2}}, {2, 0, {0, 1, 1}}};
    for (size_t i = 0; i < DROVE_COUNT(known); i++) {
        const size_t rest = known[i].rest, n = known[i].blocks * DROVEK_CODE_BLOCK + rest;
        for (unsigned w = 0; w < 3; w++)
            assert_int_equal(drove__codec_slice_size(n, 3, w),
                             known[i].size[w] * DROVEK_CODE_BLOCK + (w == 2 ? rest : 0));
    }
}

/* ---- all-reduce ---- */

typedef struct table {
    drove_transport *t;
    unsigned n_workers, bits;
    float *in[TIMES][MOST]; /* [N] */
    float *out[TIMES][MOST];
    double *sent; /* [N] sum of all results */
    drove_codec *codec[MOST];
    drove_status status[MOST];
    uint64_t bytes;
} table;

static void fill(table *b)
{
    drove_rng rng;
    drove__rng_seed(&rng, b->n_workers, DROVE_RNG_TEST, b->bits);
    b->sent = drove__alloc(N, sizeof *b->sent);
    for (unsigned t = 0; t < TIMES; t++) {
        for (unsigned w = 0; w < b->n_workers; w++) {
            b->in[t][w] = drove__alloc(N, sizeof(float));
            b->out[t][w] = drove__alloc(N, sizeof(float));
            for (size_t i = 0; i < N; i++) b->in[t][w][i] = (float)drove__rng_normal(&rng);
        }
    }
}

static void open_codecs(table *b)
{
    for (unsigned w = 0; w < b->n_workers; w++)
        b->codec[w] = open_codec(b->bits, N, b->n_workers, w);
}

static void close_table(table *b)
{
    for (unsigned w = 0; w < b->n_workers; w++) {
        drove__codec_destroy(b->codec[w]);
        for (unsigned t = 0; t < TIMES; t++) {
            drove__free(b->in[t][w]);
            drove__free(b->out[t][w]);
        }
    }
    drove__free(b->sent);
    b->t->ops->destroy(b->t);
}

static void exchange(void *context, unsigned w)
{
    table *b = context;
    for (unsigned t = 0; t < TIMES; t++) {
        const drove_exchange x = {.kind = DROVE_ALL_REDUCE,
                                  .in = b->in[t][w],
                                  .out = b->out[t][w],
                                  .n = N,
                                  .codec = b->codec[w]};
        drove_exchange_info info = {0};
        if (b->status[w] == DROVE_OK) b->status[w] = drove__exchange(b->t, w, &x, &info);
        if (w == 0) b->bytes = info.bytes;
    }
}

/* The four steps of the header, one worker after the other. */
static void exchange_by_hand(table *b, unsigned t, float *wanted)
{
    static float spare[DROVE_TREE_LEVELS * DROVE_TREE_BLOCK];
    const char *code[MOST];
    for (unsigned w = 0; w < b->n_workers; w++)
        code[w] = drove__codec_encode(b->codec[w], b->in[t][w]);
    for (unsigned w = 0; w < b->n_workers; w++) {
        const void *part[MOST];
        size_t first, n;
        drove__codec_slice(b->codec[w], w, &first, &n);
        for (unsigned i = 0; i < b->n_workers; i++)
            part[i] = code[i] + drove__codec_bytes(b->codec[w], first);
        drove__codec_add(b->codec[w], part, b->n_workers, n, wanted + first, spare);
        const void *sum = drove__codec_encode_sum(b->codec[w], first, n, wanted + first);
        drove__codec_decode(b->codec[w], wanted + first, sum, n);
    }
}

static void check_by_hand(table *b)
{
    for (unsigned w = 0; w < b->n_workers; w++) drove__codec_destroy(b->codec[w]);
    open_codecs(b);
    float *wanted = drove__alloc(N, sizeof *wanted);
    for (unsigned t = 0; t < TIMES; t++) {
        exchange_by_hand(b, t, wanted);
        for (unsigned w = 0; w < b->n_workers; w++)
            assert_memory_equal(b->out[t][w], wanted, N * sizeof *wanted);
    }
    drove__free(wanted);
}

/* Sum of all `in` = sum of all results + residuals of senders and of sums. */
static void check_nothing_is_lost(table *b)
{
    double most = 0.0, worst = 0.0;
    for (size_t i = 0; i < N; i++) {
        double wished = 0.0, got = 0.0;
        size_t end;
        for (unsigned t = 0; t < TIMES; t++) {
            got += (double)b->out[t][0][i];
            for (unsigned w = 0; w < b->n_workers; w++) wished += (double)b->in[t][w][i];
        }
        for (unsigned w = 0; w < b->n_workers; w++)
            got += (double)drove__codec_state(b->codec[w]).residual[i];
        unsigned owner = drove__codec_owner(b->codec[0], i, &end);
        size_t first, n;
        drove__codec_slice(b->codec[0], owner, &first, &n);
        double held = (double)drove__codec_state(b->codec[owner]).sum_residual[i - first];
        worst = fmax(worst, fabs(got + held - wished));
        most = fmax(most, fabs(held));
    }
    assert_true(worst < 1e-4); /* additions in float */
    /* A format that loses nothing would test nothing; one worker's codes are those of the sum. */
    if (b->n_workers > 1) assert_true(most > 1e-5);
}

/* Mean square distance from x of what the mean of these workers' codes stands for. */
static double error_of_mean(unsigned bits, unsigned n_workers, const float *x, size_t n)
{
    float *decoded = drove__alloc(n, sizeof *decoded);
    double *mean = drove__alloc(n, sizeof *mean), sum = 0.0;
    for (unsigned w = 0; w < n_workers; w++) {
        drove_codec *codec = open_codec(bits, n, n_workers, w);
        drove__codec_decode(codec, decoded, drove__codec_encode(codec, x), n);
        for (size_t i = 0; i < n; i++) mean[i] += (double)decoded[i] / n_workers;
        drove__codec_destroy(codec);
    }
    for (size_t i = 0; i < n; i++) sum += (mean[i] - (double)x[i]) * (mean[i] - (double)x[i]);
    drove__free(decoded);
    drove__free(mean);
    return sum / (double)n;
}

/* Workers that all send the same vector round it independently: the error of their mean has 1 / n
 * of the variance of one. */
TEST(workers_round_independently)
{
    enum { LENGTH = 8192, WORKERS = 8 };
    static const unsigned format[] = {16, 8};
    float *x = drove__alloc(LENGTH, sizeof *x);
    drove_rng rng;
    drove__rng_seed(&rng, 11, DROVE_RNG_TEST, 0);
    for (size_t i = 0; i < LENGTH; i++) x[i] = (float)drove__rng_normal(&rng);
    for (size_t f = 0; f < DROVE_COUNT(format); f++) {
        double one = error_of_mean(format[f], 1, x, LENGTH);
        double all = error_of_mean(format[f], WORKERS, x, LENGTH);
        assert_true(one > 0.0);
        /* Each of 8192 terms is within 1.5 of its mean: five standard errors are below 0.1. */
        assert_true(fabs(all / one * WORKERS - 1.0) < 0.15);
    }
    drove__free(x);
}

TEST(all_end_with_equal_bits_and_nothing_is_lost)
{
    static const unsigned format[] = {16, 8, 1};
    for (size_t f = 0; f < DROVE_COUNT(format); f++) {
        for (unsigned n_workers = 1; n_workers <= MOST; n_workers += n_workers < 5 ? 1 : 2) {
            table b = {.n_workers = n_workers, .bits = format[f]};
            assert_int_equal(drove__transport_shared(n_workers, false, N, crowd_kernels(), NULL,
                                                     NULL, &b.t),
                             DROVE_OK);
            fill(&b);
            open_codecs(&b);
            crowd_run(n_workers, exchange, &b);
            for (unsigned w = 0; w < n_workers; w++) assert_int_equal(b.status[w], DROVE_OK);
            if (n_workers > 1) assert_int_equal(b.bytes, drovek_code_bytes(format[f], N));
            check_nothing_is_lost(&b);
            check_by_hand(&b);
            close_table(&b);
        }
    }
}
