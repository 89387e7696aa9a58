/* tests/fuzz/fuzz_quant.c - the input is a file of quantised data; if it is a safetensors file, it
 * is read once more with the checksums that its content asks for, so that what lies behind them is
 * reached. */
#include "fuzz_data.h"

#include "data/disk/quant_file.h"

enum { METADATA_MOST = 64 };

static bool read_blocks(const drove_blocks *b)
{
    drove_storage *s;
    drove_place_in to = {0};
    const uint64_t n_stored = b->first_stored != NULL ? b->first_stored[b->n_blocks] : 0;
    const uint64_t n_labels = b->first_label != NULL ? b->first_label[b->n_blocks] : 0;
    if (drove__blocks_storage(b, b->n_rows, n_stored, n_labels, &s) != DROVE_OK) return false;
    drove_status status = DROVE_OK;
    for (size_t i = 0; i < b->n_blocks && status == DROVE_OK; i++)
        status = b->ops->read(b, i, s, &to);
    drove__storage_release(s);
    return status == DROVE_OK;
}

/* Whether the file is accepted when it is read by blocks. */
static bool try_blocks(const char *text, bool as_floats)
{
    drove_spec spec;
    drove_blocks *b;
    if (drove__spec_parse(text, &spec) != DROVE_OK) return false;
    bool is_good = drove__quant_open(&spec, &b) == DROVE_OK;
    drove__spec_fini(&spec);
    if (!is_good) return false;
    is_good = (!as_floats || drove__blocks_prefer_floats(b) == DROVE_OK) && read_blocks(b);
    drove__blocks_close(b);
    return is_good;
}

/* What can be done with a quantised data set. */
static void use(const char *spec)
{
    drove_data *train, *held_out;
    drove_quant *q;
    const bool by_blocks = try_blocks(spec, false), as_floats = try_blocks(spec, true);
    if (by_blocks != as_floats) abort();
    if (!fuzz_try(spec, NULL, &train, &held_out)) return;
    fuzz_look(train);
    const drove_quant *from = train->storage->quant;
    bool small = train->storage->n_features < FUZZ_SCALED_FEATURES_MOST;
    if (small && drove_data_convert(train, "libsvm:/dev/null") != DROVE_OK) abort();
    if (drove_data_convert(train, "quant:/dev/null") != DROVE_OK) abort();
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

/* n things of a tensor, `before` others left out, as far as it has them. */
static void add(drove_checksum *sum, const drove_tensor *t, uint64_t before, uint64_t n)
{
    if (t == NULL || t->rank == 0 || n == 0 || before > t->shape[0] || n > t->shape[0] - before)
        return;
    const size_t each = drove__tensor_bytes(t) / t->shape[0];
    drove__checksum_add(sum, (const char *)t->bytes + before * each, (size_t)n * each);
}

/* Rows of a list of starts, and what they list. */
static void add_listed(drove_checksum *sum, const drove_safetensors *st, const char *starts,
                       const char *const things[2], uint64_t first, uint64_t n)
{
    const drove_tensor *t = drove__safetensors_find(st, starts);
    uint64_t from, to;
    add(sum, t, first, n + 1);
    if (t->type != DROVE_T_U64 || t->rank != 1 || first + n >= t->shape[0]) return;
    memcpy(&from, (const char *)t->bytes + first * sizeof from, sizeof from);
    memcpy(&to, (const char *)t->bytes + (first + n) * sizeof to, sizeof to);
    for (size_t i = 0; i < 2 && from <= to; i++)
        if (things[i] != NULL) add(sum, drove__safetensors_find(st, things[i]), from, to - from);
}

static uint64_t count_of(const drove_safetensors *st, const char *key)
{
    const char *text = drove__safetensors_meta(st, key);
    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

/* Puts the checksums of the blocks right. */
static void correct_blocks(const drove_safetensors *st)
{
    static const char *const pairs[2] = {"value", "index"}, *const labels[2] = {"label"};
    const drove_tensor *sums = drove__safetensors_find(st, DROVE_QUANT_BLOCKS);
    const uint64_t n_rows = count_of(st, "n_rows"), block_rows = count_of(st, "block_rows");
    drove_checksum *sum;
    if (sums == NULL || sums->type != DROVE_T_U64 || sums->rank != 1 || block_rows == 0) return;
    if (drove__checksum_begin(&sum) != DROVE_OK) abort();
    for (uint64_t i = 0; i < sums->shape[0] && i * block_rows < n_rows; i++) {
        const uint64_t first = i * block_rows, left = n_rows - first;
        const uint64_t n = left < block_rows ? left : block_rows;
        drove__checksum_reset(sum);
        if (drove__safetensors_find(st, "row_start") != NULL)
            add_listed(sum, st, "row_start", pairs, first, n);
        else add(sum, drove__safetensors_find(st, "value"), first, n);
        if (drove__safetensors_find(st, "label_start") != NULL)
            add_listed(sum, st, "label_start", labels, first, n);
        else add(sum, drove__safetensors_find(st, "target"), first, n);
        const uint64_t value = drove__checksum_value(sum);
        memcpy((char *)sums->bytes + i * sizeof value, &value, sizeof value);
    }
    drove__checksum_end(sum);
}

/* Writes the loaded file anew with its checksums put right; false: it cannot be written. */
static bool correct(const drove_safetensors *st, const char *path)
{
    const char *meta[2 * METADATA_MOST + 1];
    size_t n = 0;
    if (st->n_meta > METADATA_MOST) return false;
    for (size_t i = 0; i < st->n_meta; i++) {
        meta[n++] = st->meta_key[i];
        meta[n++] = st->meta_value[i];
    }
    meta[n] = NULL;
    correct_blocks(st);
    return drove__safetensors_write(path, st->tensor, st->n_tensors, meta) == DROVE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[64], other[64], spec[160];
    int fd;
    drove_safetensors st;
    if (fuzz_open_keyed("quant", data, size_bytes)) return 0;
    fuzz_file(data, size_bytes, &fd, path);
    snprintf(spec, sizeof spec, "quant:%s", path);
    use(spec);
    snprintf(other, sizeof other, "fuzz_quant.%ld", (long)getpid());
    if (drove__safetensors_load(path, &st) == DROVE_OK) {
        if (correct(&st, other)) {
            snprintf(spec, sizeof spec, "quant:%s", other);
            use(spec);
            unlink(other);
        }
        drove__safetensors_fini(&st);
    }
    close(fd);
    return 0;
}
