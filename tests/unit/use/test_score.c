/* The quality that a run prints beside its loss, by hand: share of correct examples, and micro-F1
 * of labels, 2 TP / (2 TP + FP + FN). */
#include "use/modelfile.h"
#include "support/test.h"

#include "base/mem.h"
#include "data/data.h"

#include <math.h>

static double accuracy(drove_y_kind kind, drove_score score)
{
    drove_storage storage = {.y_kind = kind};
    const drove_data data = {.storage = &storage};
    return drove__score_accuracy(&data, &score);
}

TEST(micro_f1)
{
    static const struct {
        double hits, false_positive, false_negative, expected;
    } rows[] = {
        {3, 2, 1, 6.0 / 9.0},   {3, 1, 2, 6.0 / 9.0},   {1, 0, 6, 0.25}, {1, 6, 0, 0.25},
        {5, 0, 0, 1.0},         {0, 4, 5, 0.0},         {0, 0, 0, 1.0}, /* nothing to find */
        {7, 3, 0, 14.0 / 17.0}, {7, 0, 3, 14.0 / 17.0},
    };
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) {
        const drove_score score = {.true_positive = rows[i].hits,
                                   .false_positive = rows[i].false_positive,
                                   .false_negative = rows[i].false_negative};
        assert_true(fabs(accuracy(DROVE_Y_LABELS, score) - rows[i].expected) < 1e-12);
    }
}

TEST(share_of_correct_examples)
{
    /* Weighted: 3 of 4 examples weigh 6 of 10. */
    assert_true(accuracy(DROVE_Y_CLASS, (drove_score){.weight = 10.0, .n_correct = 6.0}) == 0.6);
    assert_true(accuracy(DROVE_Y_CLASS, (drove_score){0}) == 0.0);
    assert_true(isnan(accuracy(DROVE_Y_VALUE, (drove_score){.weight = 10.0, .n_correct = 6.0})));
}
