/* tests/unit/data/test_quant_blocks.c - quant:FILE read by blocks: the same rows as read whole, of
 * every precision and kind of target, wherever they are put; files that are damaged, forged, cut or
 * changed meanwhile are refused. */
#include "quant_files.h"

#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AHEAD = 3, PAIRS_AHEAD = 7, LABELS_AHEAD = 2 }; /* of what is read, in the storage */

static size_t place_of(const drove_blocks *b, size_t block, size_t *row)
{
    *row = AHEAD;
    for (size_t i = b->n_blocks; i-- > block + 1;) *row += drove__blocks_rows(b, i);
    return *row;
}

/* All blocks, the last one first, behind rows that are left free. */
static drove_status read_blocks(const drove_blocks *b, drove_storage **out)
{
    drove_place_in to = {.row = AHEAD, .stored = PAIRS_AHEAD, .label = LABELS_AHEAD};
    const uint64_t stored = b->first_stored != NULL ? b->first_stored[b->n_blocks] : 0;
    const uint64_t labels = b->first_label != NULL ? b->first_label[b->n_blocks] : 0;
    DROVE_TRY(drove__blocks_storage(b, b->n_rows + AHEAD, stored + PAIRS_AHEAD,
                                    labels + LABELS_AHEAD, out));
    drove_status status = DROVE_OK;
    for (size_t i = b->n_blocks; i-- > 0 && status == DROVE_OK;) {
        size_t row;
        assert_int_equal(to.row, place_of(b, i, &row));
        status = drove__blocks_read(b, i, *out, &to);
    }
    if (status == DROVE_OK) {
        assert_int_equal(to.row, b->n_rows + AHEAD);
        if (b->first_stored != NULL) assert_int_equal(to.stored, stored + PAIRS_AHEAD);
        if (b->first_label != NULL) assert_int_equal(to.label, labels + LABELS_AHEAD);
        return DROVE_OK;
    }
    drove__storage_release(*out);
    *out = NULL;
    return status;
}

static void unpack(const drove_storage *s, size_t row, float *x)
{
    const drove_data view = {.storage = (drove_storage *)s, .n_rows = s->n_rows};
    if (s->x_kind == DROVE_X_QUANT) drove__quant_unpack(s->quant, row, s->n_features, x);
    for (size_t f = 0; s->x_kind != DROVE_X_QUANT && f < s->n_features; f++)
        x[f] = value_at(&view, row, f);
}

static void expect_same_row(const drove_storage *s, size_t i, const drove_storage *t, size_t k)
{
    float *x = calloc(s->n_features, sizeof *x), *y = calloc(s->n_features, sizeof *y);
    unpack(s, i, x);
    unpack(t, k, y);
    assert_memory_equal(x, y, s->n_features * sizeof *x);
    free(x);
    free(y);
    if (s->y_kind == DROVE_Y_CLASS) assert_int_equal(s->y_class[i], t->y_class[k]);
    if (s->y_kind == DROVE_Y_VALUE) assert_true(s->y_value[i] == t->y_value[k]);
    if (s->y_kind != DROVE_Y_LABELS) return;
    const size_t n = (size_t)(t->label_start[k + 1] - t->label_start[k]);
    assert_int_equal(s->label_start[i + 1] - s->label_start[i], n);
    assert_memory_equal(s->label + s->label_start[i], t->label + t->label_start[k],
                        n * sizeof *t->label);
}

static void expect_same_description(const drove_storage *s, const drove_storage *t)
{
    char one[DROVE_CLASS_TEXT_SIZE], two[DROVE_CLASS_TEXT_SIZE];
    assert_int_equal(s->n_features, t->n_features);
    assert_int_equal(s->y_kind, t->y_kind);
    assert_int_equal(s->n_classes, t->n_classes);
    assert_int_equal(s->index_base, t->index_base);
    assert_int_equal(s->scaling, t->scaling);
    assert_int_equal(s->factor != NULL, t->factor != NULL);
    for (size_t f = 0; t->factor != NULL && f < t->n_features; f++)
        assert_true(s->shift[f] == t->shift[f] && s->factor[f] == t->factor[f]);
    assert_int_equal(s->channels * 10000 + s->height * 100 + s->width,
                     t->channels * 10000 + t->height * 100 + t->width);
    assert_string_equal(s->notes, t->notes);
    for (size_t c = 0; c < t->n_classes; c++)
        assert_string_equal(drove__class_text(s, c, one), drove__class_text(t, c, two));
}

static size_t longest_of(const drove_storage *s)
{
    size_t longest = 0;
    for (size_t i = 0; drove__storage_is_sparse(s) && i < s->n_rows; i++) {
        size_t n = (size_t)(s->quant->row_start[i + 1] - s->quant->row_start[i]);
        longest = n > longest ? n : longest;
    }
    return longest;
}

static void expect_blocks_of(const char *file, const drove_storage *whole, size_t block_bytes,
                             bool as_floats)
{
    drove_blocks *b;
    drove_storage *s;
    size_t at;
    if (drove__blocks_open(file, &b) != DROVE_OK) fail_msg("%s", drove_error_text());
    if (as_floats) assert_int_equal(drove__blocks_prefer_floats(b), DROVE_OK);
    assert_int_equal(b->n_rows, whole->n_rows);
    assert_int_equal(b->shape->longest_row, longest_of(whole));
    if (block_bytes == 1) assert_int_equal(b->n_blocks, b->n_rows);
    if (read_blocks(b, &s) != DROVE_OK) fail_msg("%s", drove_error_text());
    expect_same_description(s, whole);
    if (s->x_kind == DROVE_X_QUANT)
        assert_string_equal(drove__storage_name(s), drove__storage_name(whole));
    for (size_t block = 0; block < b->n_blocks; block++) {
        place_of(b, block, &at);
        for (size_t i = 0; i < drove__blocks_rows(b, block); i++)
            expect_same_row(s, at + i, whole, block * b->block_rows + i);
    }
    drove__storage_release(s);
    drove__blocks_close(b);
}

TEST(test_same_as_whole)
{
    static const size_t block_bytes[] = {1, 200, 1 << 20};
    write_sources();
    for (size_t k = 0; quant_sources[k] != NULL; k++) {
        drove_data *from = open_data(quant_sources[k]);
        const char *const *precision =
            drove__storage_is_sparse(from->storage) ? quant_sparse : quant_dense;
        for (size_t p = 0; precision[p] != NULL; p++) {
            const size_t block = block_bytes[(k + p) % DROVE_COUNT(block_bytes)];
            char to[64];
            snprintf(to, sizeof to, "quant:q?precision=%s&block=%zu", precision[p], block);
            convert(from, to);
            drove_data *whole = open_data("quant:q");
            for (unsigned as_floats = 0; as_floats < 2; as_floats++)
                expect_blocks_of("quant:q", whole->storage, block, as_floats);
            drove_data_destroy(whole);
        }
        drove_data_destroy(from);
    }
}

/* Floats as they are, but only where no scaling and no differences stand in the way. */
TEST(test_floats)
{
    static const struct {
        const char *from, *to;
        drove_x_kind kind;
    } cases[] = {
        {"csv:words.csv", "quant:q?precision=D32f", DROVE_X_F32},
        {"synth:logistic?n=9&d=32", "quant:q?precision=D32f", DROVE_X_F32},
        {"csv:words.csv?scale=standard", "quant:q?precision=D32f", DROVE_X_QUANT},
        {"csv:words.csv", "quant:q?precision=D16", DROVE_X_QUANT},
        {"libsvm:sets.svm", "quant:q?precision=D32fi32", DROVE_X_CSR},
        {"libsvm:sets.svm", "quant:q?precision=D32fi16", DROVE_X_QUANT},
        {"libsvm:sets.svm", "quant:q?precision=D8i32", DROVE_X_QUANT},
    };
    write_sources();
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        drove_blocks *b;
        drove_storage *s;
        convert_spec(cases[i].from, cases[i].to);
        assert_int_equal(drove__blocks_open("quant:q", &b), DROVE_OK);
        assert_int_equal(b->shape->x_kind, DROVE_X_QUANT);
        assert_int_equal(drove__blocks_prefer_floats(b), DROVE_OK);
        assert_int_equal(b->shape->x_kind, cases[i].kind);
        assert_int_equal(read_blocks(b, &s), DROVE_OK);
        assert_int_equal(s->x_kind, cases[i].kind);
        drove__storage_release(s);
        drove__blocks_close(b);
    }
}

/* Opening, or reading some row, is refused; the text names the file, in one line. */
static drove_status try_blocks(const char *spec, const char *file)
{
    drove_blocks *b;
    drove_storage *s;
    drove_status status = drove__blocks_open(spec, &b);
    if (status == DROVE_OK) {
        status = read_blocks(b, &s);
        if (status == DROVE_OK) drove__storage_release(s);
        drove__blocks_close(b);
    } else {
        assert_null(b);
    }
    if (status == DROVE_OK) return DROVE_OK;
    assert_non_null(strstr(drove_error_text(), file));
    assert_null(strchr(drove_error_text(), '\n'));
    return status;
}

TEST(test_forgery)
{
    write_sources();
    for (size_t i = 0; i < quant_n_forgeries; i++) {
        const quant_forgery *how = &quant_forgeries[i];
        char to[64];
        snprintf(to, sizeof to, "quant:q?precision=%s", how->precision);
        convert_spec(how->from, to);
        quant_forge(how);
        drove_status status = try_blocks("quant:forged", "forged");
        if (how->word == NULL) continue;
        if (status == DROVE_OK) fail_msg("case %zu: accepted", i);
        assert_int_equal(drove_status_exit(status), 2);
    }
}

/* The block that has a byte of the file in one of its arrays; -1: none. */
static int block_of_byte(const drove_blocks *b, size_t byte)
{
    for (size_t i = 0; i < b->n_blocks; i++) {
        drove_rows_layout lay;
        lay_out_block(b, i, &lay);
        for (unsigned k = 0; k < DROVE_ROWS_SECTIONS; k++) {
            const uint64_t at = b->file->block[i].offset + lay.at[k];
            if (byte >= at && byte < at + lay.bytes[k]) return (int)i;
        }
    }
    return -1;
}

/* Every byte of a file but those between arrays: whatever one of them becomes, it is refused, and
 * its block is named.  A shorter file is refused. */
TEST(test_damage)
{
    static const char *const from[] = {"libsvm:sets.svm", "csv:words.csv?scale=standard",
                                       "libsvm:sparse.svm"};
    static const char *const to[] = {"quant:q?block=40", "quant:q?block=140",
                                     "quant:q?block=40&precision=D32fi32"};
    size_t n;
    write_sources();
    for (unsigned k = 0; k < 3; k++) {
        convert_spec(from[k], to[k]);
        quant_forge(NULL);
        char *bytes = read_bytes("forged", &n), *same = read_bytes("q", &n);
        assert_memory_equal(bytes, same, n);
        free(same);
        drove_blocks *whole = open_rows("forged");
        assert_true(whole->n_blocks > 1);
        for (size_t at = 0; at < n; at++) {
            const int block = block_of_byte(whole, at);
            const bool is_between = block < 0 && at >= 16 && at < whole->file->end;
            bytes[at] = (char)(bytes[at] ^ (1 << at % 8));
            write_bytes("damaged", bytes, n);
            drove_status status = try_blocks("quant:damaged", "damaged");
            bytes[at] = (char)(bytes[at] ^ (1 << at % 8));
            if ((status == DROVE_OK) != is_between)
                fail_msg("case %u: byte %zu of %zu: %d", k, at, n, (int)status);
            char name[48];
            snprintf(name, sizeof name, "damaged: damaged: block %d at byte", block);
            if (block >= 0 && strstr(drove_error_text(), name) == NULL)
                fail_msg("byte %zu: \"%s\" is not in: %s", at, name, drove_error_text());
        }
        for (size_t length = 0; length < n; length += length < 64 ? 1 : 13) {
            write_bytes("damaged", bytes, length);
            if (try_blocks("quant:damaged", "damaged") == DROVE_OK) fail_msg("%zu bytes", length);
        }
        drove__blocks_close(whole);
        free(bytes);
    }
}

TEST(test_changed_meanwhile)
{
    drove_blocks *b;
    drove_storage *s;
    size_t n;
    write_sources();
    convert_spec("libsvm:sparse.svm", "quant:q?precision=D8i8");
    char *bytes = read_bytes("q", &n);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000000000}};
    for (unsigned k = 0; k < 2; k++) {
        write_bytes("changing", bytes, n);
        assert_int_equal(drove__blocks_open("quant:changing", &b), DROVE_OK);
        if (k == 0) assert_int_equal(truncate("changing", (off_t)n - 1), 0);
        else assert_int_equal(utimensat(AT_FDCWD, "changing", times, 0), 0);
        assert_int_equal(read_blocks(b, &s), DROVE_E_DATA);
        assert_non_null(strstr(drove_error_text(), "changing: the file has changed"));
        drove__blocks_close(b);
    }
    free(bytes);
}

/* What can only be read whole, and wrong keys. */
TEST(test_opening)
{
    static const struct {
        const char *text;
        bool can;
    } cases[] = {
        {"quant:q", true},
        {"quant:q?precision=D16", true},
        {"quant:q?from=csv:words.csv", false},
        {"quant:packed", false},
        {"quant:-", false}, /* which looking would use up */
        {"csv:words.csv", false},
    };
    drove_blocks *b;
    drove_spec spec;
    size_t n;
    write_sources();
    convert_spec("csv:words.csv", "quant:q?precision=D16");
    char *bytes = read_bytes("q", &n);
    write_gzip("packed", bytes, n);
    free(bytes);
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        assert_int_equal(drove__spec_parse(cases[i].text, &spec), DROVE_OK);
        bool can;
        assert_int_equal(drove__blocks_can(&spec, &can), DROVE_OK);
        assert_int_equal(can, cases[i].can);
        drove__spec_fini(&spec);
        drove_status status = drove__blocks_open(cases[i].text, &b);
        assert_int_equal(status, cases[i].can ? DROVE_OK : DROVE_E_ARG);
        drove__blocks_close(b);
    }
    assert_int_equal(drove__blocks_open("quant:absent", &b), DROVE_E_FILE);
    assert_int_equal(drove__blocks_open("quant:q?precision=D8", &b), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "q: expected D8 (?precision), found D16"));
    convert_spec("libsvm:sets.svm", "quant:q?precision=D8i8");
    assert_int_equal(drove__blocks_open("quant:q?precision=D8i16", &b), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "q: expected D8i16 (?precision), found D8i8"));
    assert_int_equal(drove__blocks_open("quant:q?precision=D16i8", &b), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "q: expected D16i8 (?precision), found D8i8"));
    assert_int_equal(drove__blocks_open("quant:q?scale=unit", &b), DROVE_E_ARG);
    assert_int_equal(drove__blocks_open("quant:q?range=1", &b), DROVE_E_ARG);
    assert_null(b);
}

/* A file that the system does not open is not taken for one that is read in another way. */
TEST(test_too_many_files)
{
    struct rlimit usual;
    drove_blocks *b = NULL;
    drove_spec spec;
    bool can;
    char *text = (char *)&usual;
    write_sources();
    convert_spec("csv:words.csv", "quant:q?precision=D16");
    assert_int_equal(drove__spec_parse("quant:q", &spec), DROVE_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const drove_status of_can = drove__blocks_can(&spec, &can),
                       of_open = drove__blocks_open("quant:q", &b),
                       of_expand = drove__data_expand("sets.svm", &text);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(of_can, DROVE_E_IO);
    assert_int_equal(of_open, DROVE_E_IO);
    assert_null(b);
    assert_int_equal(of_expand, DROVE_E_IO);
    assert_null(text);
    drove__spec_fini(&spec);
}
