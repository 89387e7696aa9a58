/* test_mutators.c - the mutators of the fuzz targets (tests/fuzz/mutate/): they stay within their
 * memory, repeat themselves for the same seed, and get behind the checksums of a model file. */
#include "base/safetensors.h"

#include "support/files.h"
#include "support/test.h"

#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LLVMFuzzerCustomMutator mutate_csv
#define put                     put_csv
#include "../../fuzz/mutate/csv.c"
#undef LLVMFuzzerCustomMutator
#undef put
#define LLVMFuzzerCustomMutator mutate_yaml
#define put                     put_yaml
#define wrap                    wrap_yaml
size_t mutate_yaml(uint8_t *data, size_t size, size_t most, unsigned seed);
#include "../../fuzz/mutate/yaml.c"
#undef LLVMFuzzerCustomMutator
#undef put
#define LLVMFuzzerCustomMutator mutate_safetensors
size_t mutate_safetensors(uint8_t *data, size_t size, size_t most, unsigned seed);
#include "../../fuzz/mutate/safetensors.c"

enum { MOST = 2048, N_SEEDS = 4000 };

/* In the place of libFuzzer's: one byte changes. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
    (void)most;
    if (size > 0) data[size / 2]++;
    return size;
}

typedef size_t mutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static size_t apply(mutator *mutate, const void *bytes, size_t n, size_t most, unsigned seed,
                    uint8_t *into)
{
    memcpy(into, bytes, n);
    const size_t size = mutate(into, n, most, seed);
    assert_true(size <= most);
    return size;
}

/* With little room and with much, of memory of just that size, twice. */
static void stays_within(mutator *mutate, const void *bytes, size_t n)
{
    unsigned n_changed = 0;
    for (size_t most = n; most <= n + MOST; most += MOST) {
        uint8_t *into = malloc(most), *again = malloc(most);
        assert_non_null(into);
        assert_non_null(again);
        for (unsigned seed = 0; seed < N_SEEDS; seed++) {
            const size_t size = apply(mutate, bytes, n, most, seed, into);
            assert_int_equal(apply(mutate, bytes, n, most, seed, again), size);
            assert_memory_equal(into, again, size);
            n_changed += size != n || memcmp(into, bytes, n) != 0;
        }
        free(into);
        free(again);
    }
    assert_true(n_changed > N_SEEDS); /* of twice as many */
}

TEST(tables_stay_within)
{
    static const char table[] = "a,b,c\n1,\"x, y\",3\n4,,6\n";
    stays_within(mutate_csv, table, sizeof table - 1);
    stays_within(mutate_csv, "x", 1);
}

TEST(texts_stay_within)
{
    static const char text[] = "layers:\n  - {name: a, kind: dense, outputs: 3}\n  - relu\n";
    stays_within(mutate_yaml, text, sizeof text - 1);
    stays_within(mutate_yaml, ":", 1);
}

/* A file of two tensors; its bytes. */
static size_t make_file(uint8_t into[MOST])
{
    static const float w[6] = {1, 2, 3, 4, 5, 6};
    static const uint64_t n[2] = {7, 8};
    static const char *const meta[] = {"format", "drove-model-2", "scale", "none", NULL};
    const drove_tensor tensor[] = {
        {.name = "w", .type = DROVE_T_F32, .rank = 2, .shape = {2, 3}, .bytes = w},
        {.name = "n", .type = DROVE_T_U64, .rank = 1, .shape = {2}, .bytes = n}};
    assert_int_equal(drove__safetensors_write("seed", tensor, 2, meta), DROVE_OK);
    FILE *file = fopen("seed", "rb");
    assert_non_null(file);
    const size_t size = fread(into, 1, MOST, file);
    fclose(file);
    unlink("seed");
    return size;
}

static bool loads(const uint8_t *bytes, size_t size, drove_safetensors *st)
{
    write_bytes("mutated", bytes, size);
    return drove__safetensors_load("mutated", st) == DROVE_OK;
}

TEST(files_stay_within)
{
    uint8_t file[MOST];
    stays_within(mutate_safetensors, file, make_file(file));
}

/* Most changed files still have right checksums, and each part of them changes in some. */
TEST(changes_get_behind_the_checksums)
{
    uint8_t file[MOST], into[2 * MOST];
    const size_t n = make_file(file);
    unsigned n_loaded = 0, n_meta = 0, n_tensors = 0, n_bytes = 0;
    for (unsigned seed = 0; seed < N_SEEDS; seed++) {
        drove_safetensors st;
        const size_t size = apply(mutate_safetensors, file, n, sizeof into, seed, into);
        if ((size == n && memcmp(into, file, n) == 0) || !loads(into, size, &st)) continue;
        n_loaded++;
        const char *scale = drove__safetensors_meta(&st, "scale");
        const drove_tensor *w = drove__safetensors_find(&st, "w");
        n_meta += scale == NULL || strcmp(scale, "none") != 0;
        n_tensors += w == NULL || st.n_tensors != 2 || w->shape[1] != 3;
        n_bytes += w != NULL && w->type == DROVE_T_F32 && w->rank == 2 && w->shape[0] == 2 &&
                   *(const float *)w->bytes != 1.0f;
        drove__safetensors_fini(&st);
    }
    unlink("mutated");
    assert_true(n_loaded > N_SEEDS / 3);
    assert_true(n_meta > N_SEEDS / 50);
    assert_true(n_tensors > N_SEEDS / 200);
    assert_true(n_bytes > N_SEEDS / 50);
}

/* What is put right is what the library itself writes. */
TEST(a_file_in_order_stays)
{
    uint8_t file[MOST], damaged[MOST];
    drove_safetensors st;
    size_t n = make_file(file);
    memcpy(damaged, file, n);
    damaged[n - 1] ^= 1;
    assert_false(loads(damaged, n, &st));
    n = repair_file(damaged, n, MOST);
    assert_true(loads(damaged, n, &st));
    assert_true(st.is_checked);
    drove__safetensors_fini(&st);
    unlink("mutated");
}
