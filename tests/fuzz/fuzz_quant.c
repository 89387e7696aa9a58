/* tests/fuzz/fuzz_quant.c - the input is a file of quantised data; if it is a safetensors file, it
 * is read once more with the checksum that its content asks for, so that what lies behind the
 * checksum is reached. */
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
    bool is_good = drove__quant_open_blocks(&spec, 64, &b) == DROVE_OK;
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

/* Writes the loaded file anew with its checksums put right, also that of version 1; false: it
 * cannot be written. */
static bool correct(const drove_safetensors *st, const char *path)
{
    const char *meta[2 * METADATA_MOST + 3];
    char sum[DROVE_CHECKSUM_TEXT_SIZE];
    uint64_t hash = 0;
    size_t n = 0;
    if (st->n_meta > METADATA_MOST) return false;
    for (size_t i = 0; i < st->n_tensors; i++)
        hash = drove__quant_hash_tensor(hash, &st->tensor[i]);
    for (size_t i = 0; i < st->n_meta; i++) {
        if (strcmp(st->meta_key[i], DROVE_QUANT_CHECKSUM) == 0) continue;
        meta[n] = st->meta_key[i];
        meta[n + 1] = st->meta_value[i];
        hash = drove__quant_hash_meta(hash, meta[n], meta[n + 1]);
        n += 2;
    }
    drove__checksum_print(hash, sum);
    meta[n] = DROVE_QUANT_CHECKSUM;
    meta[n + 1] = sum;
    meta[n + 2] = NULL;
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
