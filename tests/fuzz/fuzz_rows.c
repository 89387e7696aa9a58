/* tests/fuzz/fuzz_rows.c - the input is a file of rows, quantised or not; it is also read with the
 * checksums that its description and its blocks ask for, so that what lies behind them is reached.
 * By blocks or whole, as they are or as floats, it is accepted or refused alike, and what is
 * accepted is written and read back the same.
 */
#include "fuzz_data.h"

#include "base/checksum.h"
#include "data/fingerprint.h"
#include "data/disk/rows_file.h"
#include "fuzz_folder.h"

enum { END = 3 * 8 + DROVE_ROWS_MAGIC_SIZE };

static bool read_blocks(const drove_blocks *b)
{
    drove_storage *s;
    drove_place_in to = {0};
    const uint64_t n_stored = b->first_stored != NULL ? b->first_stored[b->n_blocks] : 0;
    const uint64_t n_labels = b->first_label != NULL ? b->first_label[b->n_blocks] : 0;
    if (drove__blocks_storage(b, b->n_rows, n_stored, n_labels, &s) != DROVE_OK) return false;
    drove_status status = DROVE_OK;
    for (size_t i = 0; i < b->n_blocks && status == DROVE_OK; i++)
        status = drove__blocks_read(b, i, s, &to);
    drove__storage_release(s);
    return status == DROVE_OK;
}

static bool try_blocks(const char *path, bool as_floats)
{
    char text[FUZZ_PATH_SIZE + 8];
    drove_blocks *b;
    snprintf(text, sizeof text, "rows:%s", path);
    if (drove__blocks_open(text, &b) != DROVE_OK) return false;
    if (as_floats && drove__blocks_prefer_floats(b) != DROVE_OK) abort();
    const bool is_good = read_blocks(b);
    drove__blocks_close(b);
    return is_good;
}

/* Written and read back, they are the same rows. */
static void check_copy(const drove_data *train)
{
    char spec[FUZZ_PATH_SIZE];
    drove_data *again, *none;
    uint64_t sum, sum_again;
    snprintf(spec, sizeof spec, "rows:%s/copy.rows", fuzz_folder());
    unlink(strchr(spec, ':') + 1); /* nothing is overwritten */
    if (drove_data_convert(train, spec) != DROVE_OK) abort();
    if (drove_data_open(spec, NULL, 1, &again, &none) != DROVE_OK) abort();
    if (drove__data_fingerprint(train->storage, &sum) != DROVE_OK) abort();
    if (drove__data_fingerprint(again->storage, &sum_again) != DROVE_OK) abort();
    if (again->n_rows != train->n_rows || sum != sum_again) abort();
    drove_data_destroy(again);
}

/* Quantised rows: also as quant:FILE, in another order, and as data of their own to test on. */
static void use_quantised(const char *path)
{
    char spec[FUZZ_PATH_SIZE + 8];
    drove_data *train, *held_out;
    drove_quant *q;
    snprintf(spec, sizeof spec, "quant:%s", path);
    if (!fuzz_try(spec, NULL, &train, &held_out)) abort();
    const drove_quant *from = train->storage->quant;
    bool small = train->storage->n_features < FUZZ_SCALED_FEATURES_MOST;
    if (small && drove_data_convert(train, "libsvm:/dev/null") != DROVE_OK) abort();
    uint32_t *order = calloc(train->n_rows, sizeof *order);
    if (order == NULL) abort();
    for (size_t i = 0; i < train->n_rows; i++) order[i] = (uint32_t)(train->n_rows - 1 - i);
    const drove_quant_options opt = {from->number, from->index_bits, 0, order};
    if (drove__quant_create(train, &opt, &q) != DROVE_OK) abort();
    if (drove__quant_check(q, train->storage->n_features, "copy") != DROVE_OK) abort();
    drove__quant_release(q);
    free(order);
    drove_data_destroy(train);
    if (!fuzz_try(spec, spec, &train, &held_out)) return; /* a class twice */
    drove_data_destroy(train);
    drove_data_destroy(held_out);
    if (!fuzz_try(spec, "split", &train, &held_out)) return; /* a single row */
    if (train->storage != held_out->storage) abort();
    drove_data_destroy(train);
    drove_data_destroy(held_out);
}

static void use(const char *path)
{
    char spec[FUZZ_PATH_SIZE + 8];
    drove_data *train, *held_out;
    const bool by_blocks = try_blocks(path, false), as_floats = try_blocks(path, true);
    if (by_blocks != as_floats) abort();
    snprintf(spec, sizeof spec, "rows:%s", path);
    const bool is_good = fuzz_try(spec, NULL, &train, &held_out);
    if (is_good != by_blocks) abort(); /* what is whole can be read by blocks */
    if (!is_good) return;
    fuzz_look(train);
    check_copy(train);
    const bool is_quantised = train->storage->x_kind == DROVE_X_QUANT;
    drove_data_destroy(train);
    if (is_quantised) use_quantised(path);
    else fuzz_open(spec);
}

static const drove_rows_section order[] = {DROVE_ROWS_X,     DROVE_ROWS_START,  DROVE_ROWS_INDEX,
                                           DROVE_ROWS_VALUE, DROVE_ROWS_TARGET, DROVE_ROWS_LABEL,
                                           DROVE_ROWS_WEIGHT};

/* Puts the 16 digits of a checksum at `at`. */
static void put_sum(char *at, const drove_checksum *sum)
{
    char digits[DROVE_CHECKSUM_TEXT_SIZE];
    drove__checksum_print(drove__checksum_value(sum), digits);
    memcpy(at, digits, DROVE_CHECKSUM_TEXT_SIZE - 1);
}

static drove_checksum *begin_sum(void)
{
    drove_checksum *sum;
    if (drove__checksum_begin(&sum) != DROVE_OK) abort();
    return sum;
}

static void sum_block(const uint8_t *data, size_t size_bytes, const drove_blocks *b, size_t block,
                      const drove_rows_entry *entry, char *behind)
{
    drove_rows_layout lay;
    if (!drove__rows_lay_out(b->shape, drove__blocks_rows(b, block), entry->n_stored,
                             entry->n_labels, &lay))
        return;
    drove_checksum *all = begin_sum(), *values = begin_sum();
    bool is_whole = true;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const uint64_t at = entry->offset + lay.at[order[i]], n = lay.bytes[order[i]];
        if (n == 0) continue;
        is_whole = is_whole && at <= size_bytes && n <= size_bytes - at;
        if (is_whole)
            drove__checksum_add(order[i] == DROVE_ROWS_VALUE ? values : all, data + at, (size_t)n);
    }
    /* behind: ..."0123456789abcdef","0123456789abcdef"] */
    if (is_whole && behind[-1] == ']' && behind[-2] == '"' && behind[-19] == '"') {
        put_sum(behind - 18, values);
        if (behind[-20] == ',' && behind[-21] == '"') put_sum(behind - 37, all);
    }
    drove__checksum_end(all);
    drove__checksum_end(values);
}

/* The checksum of the description, if the end of the file gives its place. */
static bool sum_description(uint8_t *data, size_t size_bytes, uint64_t facts[3])
{
    if (size_bytes < DROVE_ROWS_MAGIC_SIZE + END) return false;
    memcpy(facts, data + size_bytes - END, 3 * sizeof *facts);
    if (facts[0] > size_bytes - END || facts[1] > size_bytes - END - facts[0]) return false;
    facts[2] = drove__checksum(data + facts[0], (size_t)facts[1]);
    memcpy(data + size_bytes - END, facts, 3 * sizeof *facts);
    return true;
}

static void sum_blocks(uint8_t *data, size_t size_bytes, const uint64_t facts[3], const char *path)
{
    char text[FUZZ_PATH_SIZE + 8];
    char *description = (char *)data + facts[0];
    drove_rows_list list;
    drove_rows_entry entry;
    drove_blocks *b;
    snprintf(text, sizeof text, "rows:%s", path);
    if (drove__blocks_open(text, &b) != DROVE_OK) return;
    if (!drove__rows_list_find(description, (size_t)facts[1], &list)) abort(); /* it was opened */
    for (size_t i = 0; i < b->n_blocks && drove__rows_list_next(&list, &entry); i++)
        sum_block(data, size_bytes, b, i, &entry, description + (list.at - description));
    drove__blocks_close(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[FUZZ_PATH_SIZE];
    uint64_t facts[3];
    if (fuzz_open_keyed("quant", data, size_bytes)) return 0;
    snprintf(path, sizeof path, "%s/input.rows", fuzz_folder());
    fuzz_write(path, data, size_bytes);
    use(path);
    uint8_t *copy = malloc(size_bytes + 1);
    if (copy == NULL) abort();
    memcpy(copy, data, size_bytes);
    if (sum_description(copy, size_bytes, facts)) {
        fuzz_write(path, copy, size_bytes);
        sum_blocks(copy, size_bytes, facts, path);
        if (sum_description(copy, size_bytes, facts)) {
            fuzz_write(path, copy, size_bytes);
            use(path);
        }
    }
    free(copy);
    return 0;
}
