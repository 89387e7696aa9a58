/* Convolutions in bf16 on lines of images (kernel/conv/strips.h): by the packed factors of plain C
 * and of every tier against the plain loops, and which passes take them. */
#include "conv_support.h"
#include "support/test.h"

#include "base/mem.h"

/* Calls by which images of a shape are computed; SIZE_MAX: whichever. */
typedef struct strips_case {
    drovek_conv_shape s;
    size_t n_rows, n_lines, n_places;
    drovek_format in;
} strips_case;

static void check_case(const drovek_table *tier, const strips_case *f, drovek_act act, bool adds)
{
    conv_calls calls;
    const drovek_strips_ops counting = conv_counting(tier->strips, &calls);
    drovek_table t = *tier;
    t.strips = &counting;
    const conv_case c = {.shape = &f->s,
                         .act = act,
                         .rows = f->n_rows,
                         .n_rows = f->n_rows,
                         .adds = adds,
                         .tier = &t,
                         .in = f->in,
                         .out = DROVEK_NHWC,
                         .rounds = true};
    conv_check_plain(&c, "strips");
    if (f->n_lines != SIZE_MAX) assert_int_equal(calls.n_lines, f->n_lines);
    if (f->n_places != SIZE_MAX) assert_int_equal(calls.n_places, f->n_places);
}

/* All passes of the first three take lines of images: forward those of the output, back those of
 * the input, and the gradient those of a window, for every 32 images (and every third of the first
 * layer's lines).  One image does not fill a strip of 16; other shapes have groups, steps,
 * distances, or windows as large as the image. */
static void check_tier(const drovek_table *tier)
{
    const strips_case all[] = {
        {conv_shape(20, 12, 12, 50, 1, square(5, 1, 0, 1)), 64, 8 + 12, 2 * 5, DROVEK_NHWC},
        {conv_shape(1, 28, 28, 20, 1, square(5, 1, 0, 1)), 32, SIZE_MAX, 3 * 5, DROVEK_NCHW},
        {conv_shape(20, 12, 12, 50, 1, square(5, 1, 0, 1)), 90, 16 + 24, 3 * 5, DROVEK_NHWC},
        {conv_shape(20, 12, 12, 50, 1, square(5, 1, 0, 1)), 1, 0, 0, DROVEK_NHWC},
        {conv_shape(3, 9, 9, 8, 1, square(3, 1, 0, 1)), 31, SIZE_MAX, SIZE_MAX, DROVEK_NHWC},
        {conv_shape(6, 7, 6, 20, 1, square(3, 1, 1, 1)), 64, SIZE_MAX, SIZE_MAX, DROVEK_NHWC},
        {conv_shape(9, 5, 8, 16, 1, square(3, 1, 2, 1)), 40, SIZE_MAX, SIZE_MAX, DROVEK_NHWC},
        {conv_shape(16, 9, 9, 8, 1, square(3, 2, 0, 1)), 33, SIZE_MAX, SIZE_MAX, DROVEK_NHWC},
        {conv_shape(128, 4, 5, 17, 1, square(3, 1, 0, 1)), 33, SIZE_MAX, SIZE_MAX, DROVEK_NHWC},
        {conv_shape(40, 6, 6, 300, 1, square(3, 1, 1, 1)), 32, SIZE_MAX, SIZE_MAX, DROVEK_NHWC},
        {conv_shape(1, 1, 1, 1, 1, square(1, 1, 0, 1)), 64, 0, 0, DROVEK_NHWC},
        {conv_shape(16, 2, 3, 96, 1, square(1, 1, 0, 1)), 64, 0, 0, DROVEK_NHWC},
        {conv_shape(8, 6, 6, 16, 2, square(3, 1, 0, 1)), 64, 0, 0, DROVEK_NHWC},
        {conv_shape(8, 9, 9, 16, 1, square(3, 1, 0, 2)), 64, 0, 0, DROVEK_NHWC},
        {conv_shape(12, 6, 7, 10, 1, (drovek_window){2, 3, 1, 1, 1, 0, 1, 1}), 48, SIZE_MAX,
         SIZE_MAX, DROVEK_NHWC}};
    const drovek_act acts[] = {DROVEK_LINEAR, DROVEK_RELU, DROVEK_TANH};
    if (tier->strips == NULL) return;
    for (size_t i = 0; i < DROVE_COUNT(all); i++) check_case(tier, &all[i], acts[i % 3], i % 2);
    for (size_t i = 0; i < DROVE_COUNT(acts); i++) check_case(tier, &all[4], acts[i], true);
}

TEST(test_every_tier)
{
    for_each_bf16_tier(check_tier);
}

TEST(test_plain_c)
{
    drovek_table t = drovek_narrow(&drovek_ref, DROVEK_FACTORS_BF16);
    assert_null(t.strips);
    t.strips = &drovek_strips_bf16_ref;
    check_tier(&t);
}

/* Fewer images than were prepared for, and without biases. */
TEST(test_few_images)
{
    drovek_table t = drovek_narrow(&drovek_ref, DROVEK_FACTORS_BF16);
    const drovek_conv_shape s = conv_shape(20, 12, 12, 50, 1, square(5, 1, 0, 1));
    t.strips = &drovek_strips_bf16_ref;
    for (size_t n = 1; n <= 40; n += 13) {
        const conv_case c = {.shape = &s,
                             .act = DROVEK_LINEAR,
                             .rows = 64,
                             .n_rows = n,
                             .tier = &t,
                             .in = DROVEK_NHWC,
                             .out = DROVEK_NHWC,
                             .rounds = true};
        conv_check_plain(&c, "strips");
    }
}
