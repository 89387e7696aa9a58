/* Which data these are: every byte of every row that is looked at changes the fingerprint, in each
 * of the forms that data are kept in, and so do names, weights and the order. */
#include "data/fingerprint.h"
#include "support/test.h"

#include "base/mem.h"
#include "data/quant.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, FEATURES = 6, STORED = 7 };

/* ---- four rows, in every form ---- */

static uint8_t bytes[ROWS * FEATURES];
static float floats[ROWS * FEATURES], values[ROWS * 2], weights[ROWS];
static uint64_t starts[ROWS + 1] = {0, 2, 2, 5, STORED}; /* the second is empty */
static uint32_t index32[STORED] = {1, 4, 0, 2, 3, 0, 5}, labels[STORED];
static uint8_t index8[STORED] = {1, 3, 0, 2, 1, 0, 5};
static int16_t numbers[STORED] = {7, -7, 1, 2, 3, 4, -5};
static int8_t rows8[ROWS * 64];
static int32_t classes[ROWS] = {2, 0, 1, 2};

typedef struct part { /* of what the rows consist of */
    void *bytes;
    size_t n;
} part;

typedef struct form {
    drove_storage s;
    drove_quant q;
    part part[4]; /* bytes NULL: none further */
} form;

static void take_dense8(form *f)
{
    f->s.x_kind = DROVE_X_U8;
    f->s.x_u8 = bytes;
    f->part[0] = (part){bytes, sizeof bytes};
}

static void take_dense(form *f)
{
    f->s.x_kind = DROVE_X_F32;
    f->s.x_f32 = floats;
    f->part[0] = (part){floats, sizeof floats};
}

static void take_sparse(form *f)
{
    f->s.x_kind = DROVE_X_CSR;
    f->s.row_start = starts;
    f->s.index = index32;
    f->s.value = floats;
    f->part[0] = (part){index32, sizeof index32};
    f->part[1] = (part){floats, STORED * sizeof *floats};
}

static void take_places(form *f)
{
    take_sparse(f);
    f->s.value = NULL; /* all are 1 */
    f->part[1] = (part){NULL, 0};
}

static void take_quant(form *f)
{
    f->s.x_kind = DROVE_X_QUANT;
    f->q = (drove_quant){.number = DROVE_I8, .row_bytes = 64, .value = rows8};
    f->part[0] = (part){rows8, sizeof rows8};
}

static void take_quant_sparse(form *f)
{
    f->s.x_kind = DROVE_X_QUANT;
    f->q = (drove_quant){.number = DROVE_I16,
                         .index_bits = 8,
                         .value = numbers,
                         .index = index8,
                         .row_start = starts};
    f->part[0] = (part){index8, sizeof index8};
    f->part[1] = (part){numbers, sizeof numbers};
}

static void (*const forms[])(form *) = {take_dense8, take_dense,        take_sparse, take_places,
                                        take_quant,  take_quant_sparse, NULL};

static part take_target(form *f, drove_y_kind kind)
{
    f->s.y_kind = kind;
    f->s.y_class = classes;
    f->s.y_value = values;
    f->s.label_start = starts;
    f->s.label = labels;
    f->s.n_values = kind == DROVE_Y_VALUE ? 2 : 0;
    f->s.n_classes = kind == DROVE_Y_VALUE ? 0 : 3;
    if (kind == DROVE_Y_CLASS) return (part){classes, sizeof classes};
    return kind == DROVE_Y_VALUE ? (part){values, sizeof values} : (part){labels, sizeof labels};
}

static void begin(form *f)
{
    memset(f, 0, sizeof *f);
    f->s.n_rows = ROWS;
    f->s.n_features = FEATURES;
    f->s.quant = &f->q;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 37);
    for (size_t i = 0; i < ROWS * FEATURES; i++) floats[i] = 0.5f * (float)i;
    for (size_t i = 0; i < sizeof rows8; i++) rows8[i] = (int8_t)(i % 11);
    for (size_t i = 0; i < ROWS; i++) weights[i] = 1.0f + (float)i;
    for (size_t i = 0; i < STORED; i++) labels[i] = (uint32_t)i % 3;
    for (size_t i = 0; i < ROWS * 2; i++) values[i] = (float)i;
}

static uint64_t fingerprint(const form *f)
{
    uint64_t found = 0;
    assert_int_equal(drove__data_fingerprint(&f->s, &found), DROVE_OK);
    return found;
}

static void every_byte_counts(const form *f, const part *p)
{
    const uint64_t before = fingerprint(f);
    for (size_t i = 0; i < p->n; i++) {
        unsigned char *byte = (unsigned char *)p->bytes + i;
        *byte ^= 1;
        if (fingerprint(f) == before) fail_msg("byte %zu of %zu makes no difference", i, p->n);
        *byte ^= 1;
    }
    assert_true(fingerprint(f) == before);
}

/* ---- tests ---- */

TEST(every_number_of_every_form_counts)
{
    static const drove_y_kind kinds[] = {DROVE_Y_CLASS, DROVE_Y_VALUE, DROVE_Y_LABELS};
    for (unsigned k = 0; forms[k] != NULL; k++) {
        for (size_t y = 0; y < DROVE_COUNT(kinds); y++) {
            form f;
            begin(&f);
            forms[k](&f);
            part target = take_target(&f, kinds[y]);
            for (unsigned i = 0; f.part[i].bytes != NULL; i++) every_byte_counts(&f, &f.part[i]);
            every_byte_counts(&f, &target);
            const uint64_t plain = fingerprint(&f);
            f.s.weight = weights;
            assert_true(fingerprint(&f) != plain);
            every_byte_counts(&f, &(part){weights, sizeof weights});
        }
    }
}

/* The same stored numbers, cut into rows elsewhere. */
TEST(where_rows_begin_counts)
{
    for (unsigned k = 0; forms[k] != NULL; k++) {
        if (forms[k] != take_sparse && forms[k] != take_places && forms[k] != take_quant_sparse)
            continue;
        form f;
        begin(&f);
        forms[k](&f);
        (void)take_target(&f, DROVE_Y_CLASS);
        const uint64_t before = fingerprint(&f);
        starts[1]--;
        assert_true(fingerprint(&f) != before);
        starts[1]++;
        assert_true(fingerprint(&f) == before);
    }
}

TEST(names_count)
{
    static char cat[] = "cat", dog[] = "dog", cow[] = "cow", catd[] = "catd", og[] = "og";
    static char *names[] = {cat, dog, cow}, *others[] = {cat, cow, dog}, *cut[] = {catd, og, cow};
    form f;
    begin(&f);
    take_dense(&f);
    (void)take_target(&f, DROVE_Y_CLASS);
    const uint64_t unnamed = fingerprint(&f);
    f.s.class_name = names;
    const uint64_t named = fingerprint(&f);
    f.s.class_name = others;
    const uint64_t swapped = fingerprint(&f);
    f.s.class_name = cut; /* the same letters */
    const uint64_t joined = fingerprint(&f);
    assert_true(unnamed != named && named != swapped && named != joined && swapped != joined);
}

/* Of many rows 4,096 evenly spread ones are looked at: which they are is part of saved states. */
TEST(many_rows_are_sampled_evenly)
{
    enum { MANY = 10000 };
    form f;
    begin(&f);
    uint8_t *x = calloc(MANY, 1);
    int32_t *y = calloc(MANY, sizeof *y);
    bool *is_seen = calloc(MANY, sizeof *is_seen);
    assert_true(x != NULL && y != NULL && is_seen != NULL);
    f.s.n_rows = MANY;
    f.s.n_features = 1;
    f.s.x_u8 = x;
    f.s.y_class = y;
    f.s.n_classes = 1;
    for (uint64_t i = 0; i < DROVE_FINGERPRINT_ROWS; i++)
        is_seen[i * MANY / DROVE_FINGERPRINT_ROWS] = true;
    const uint64_t before = fingerprint(&f);
    for (size_t i = 0; i < MANY; i += i < 50 || i > MANY - 60 ? 1 : 97) {
        x[i] = 1;
        assert_int_equal(fingerprint(&f) != before, is_seen[i]);
        x[i] = 0;
    }
    free(is_seen);
    free(y);
    free(x);
}
