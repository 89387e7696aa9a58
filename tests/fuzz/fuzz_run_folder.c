/* tests/fuzz/fuzz_run_folder.c - whole folders of runs.  The input is a list of damages to the
 * folder of a run that has ended; the run then goes on, and its model is evaluated and predicts.
 *
 *   byte 0     the kind of run (tests/fuzz/fuzz_run.h)
 *   byte 1     number of damages, modulo 5
 *   6 each     what, which file, and two numbers of 16 bits: where and how much
 *   the rest   bytes that a damage puts in
 *
 * Where run.json and one of the two states are as they were, the run goes on, whatever became of
 * all else.  A run that refuses leaves every file of value as it was; one that goes on can go on
 * again.  A model as it was is evaluated.
 */
#include "fuzz_run.h"
#include "config/options.h"
#include "safetensors_repair.h"

#include <stdint.h>

enum { DAMAGE_BYTES = 6, DAMAGES_MOST = 5, GROWN_MOST = 1 << 16 };

typedef struct damage {
    uint8_t what, file;
    uint16_t where, how_much;
} damage;

typedef struct folder {
    const fuzz_run *run;
    fuzz_file_bytes file[FUZZ_FILES_MOST]; /* as they are now; bytes from malloc */
    unsigned n_files;
    const uint8_t *payload;
    size_t n_payload;
} folder;

static void set_bytes(fuzz_file_bytes *f, const void *bytes, size_t n)
{
    char *copy = malloc(n + 1);
    if (copy == NULL) abort();
    if (n > 0) memcpy(copy, bytes, n);
    free(f->bytes);
    f->bytes = copy;
    f->n = n;
}

static void remove_file(fuzz_file_bytes *f)
{
    free(f->bytes);
    f->bytes = NULL;
    f->n = 0;
}

static void swap_files(fuzz_file_bytes *a, fuzz_file_bytes *b)
{
    char *bytes = a->bytes;
    const size_t n = a->n;
    a->bytes = b->bytes;
    a->n = b->n;
    b->bytes = bytes;
    b->n = n;
}

/* Puts bytes of the input over those of the file, and where it is a safetensors file its checksums
 * right. */
static void overwrite(const folder *f, fuzz_file_bytes *file, size_t at, size_t n, bool repairs)
{
    if (n > f->n_payload) n = f->n_payload;
    if (n > file->n - at) n = file->n - at;
    if (n > 0) memcpy(file->bytes + at, f->payload, n);
    if (!repairs) return;
    char *grown = malloc(GROWN_MOST);
    if (grown == NULL) abort();
    if (file->n <= GROWN_MOST) {
        memcpy(grown, file->bytes, file->n);
        set_bytes(file, grown, repair_file((uint8_t *)grown, file->n, GROWN_MOST));
    }
    free(grown);
}

static void append(const folder *f, fuzz_file_bytes *file)
{
    char *longer = malloc(file->n + f->n_payload + 1);
    if (longer == NULL) abort();
    memcpy(longer, file->bytes, file->n);
    if (f->n_payload > 0) memcpy(longer + file->n, f->payload, f->n_payload);
    free(file->bytes);
    file->bytes = longer;
    file->n += f->n_payload;
}

static void do_damage(folder *f, const damage *d)
{
    fuzz_file_bytes *file = &f->file[d->file % f->n_files];
    fuzz_file_bytes *other = &f->file[d->where % f->n_files];
    if (file->bytes == NULL) return;
    const size_t at = file->n > 0 ? (size_t)d->where * file->n / 65536 : 0;
    switch (d->what % 8) {
    case 0: file->n = at; break; /* cut off */
    case 1: remove_file(file); break;
    case 2: swap_files(file, other); break;
    case 3:
        if (other->bytes != NULL && other != file) set_bytes(file, other->bytes, other->n);
        break;
    case 4: set_bytes(file, f->payload, f->n_payload); break;
    case 5: append(f, file); break;
    case 6: overwrite(f, file, at, d->how_much, false); break;
    case 7: overwrite(f, file, at, d->how_much, true); break;
    }
}

static void begin(folder *f, const uint8_t *data, size_t size_bytes)
{
    const size_t n = size_bytes > 1 ? data[1] % DAMAGES_MOST : 0;
    *f = (folder){.run = fuzz_run_of(size_bytes > 0 ? data[0] : 0)};
    f->n_files = f->run->n_files;
    for (unsigned i = 0; i < f->n_files; i++) {
        f->file[i] = f->run->file[i];
        f->file[i].bytes = NULL;
        set_bytes(&f->file[i], f->run->file[i].bytes, f->run->file[i].n);
    }
    size_t used = 2 + n * DAMAGE_BYTES;
    f->payload = used < size_bytes ? data + used : data;
    f->n_payload = used < size_bytes ? size_bytes - used : 0;
    for (size_t i = 0; i < n && 2 + (i + 1) * DAMAGE_BYTES <= size_bytes; i++) {
        const uint8_t *b = data + 2 + i * DAMAGE_BYTES;
        do_damage(f, &(damage){b[0], b[1], (uint16_t)(b[2] | b[3] << 8),
                               (uint16_t)(b[4] | b[5] << 8)});
    }
}

static void write_folder(const folder *f)
{
    fuzz_folder_clear(f->run->folder, false);
    for (unsigned i = 0; i < f->n_files; i++) {
        char path[FUZZ_PATH_SIZE];
        if (f->file[i].bytes == NULL) continue;
        snprintf(path, sizeof path, "%s/%.63s", f->run->folder, f->file[i].name);
        fuzz_write(path, f->file[i].bytes, f->file[i].n);
    }
}

static bool is_same(const fuzz_file_bytes *a, const fuzz_file_bytes *b)
{
    if (a == NULL || b == NULL || a->bytes == NULL || b->bytes == NULL) return false;
    return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

/* Whether a file was not damaged. */
static bool is_as_it_was(const folder *f, const char *name)
{
    return is_same(fuzz_find_file(f->file, f->n_files, name),
                   fuzz_find_file(f->run->file, f->run->n_files, name));
}

/* States and models are as the damage left them. */
static void check_left_alone(const folder *f)
{
    static const char *const worth[] = {"state.safetensors", "state.previous.safetensors",
                                        "model.safetensors", "best.safetensors"};
    fuzz_file_bytes now[FUZZ_FILES_MOST];
    unsigned n_now;
    fuzz_load_folder(f->run->folder, now, &n_now);
    for (size_t i = 0; i < sizeof worth / sizeof *worth; i++) {
        const fuzz_file_bytes *before = fuzz_find_file(f->file, f->n_files, worth[i]);
        if (before == NULL || before->bytes == NULL) continue;
        if (!is_same(before, fuzz_find_file(now, n_now, worth[i]))) abort();
    }
    fuzz_free_files(now, n_now);
}

static void check_model(const folder *f)
{
    drove_score_report score;
    const drove_use_options use = {
        .model = f->run->folder, .data = "synth:logistic?n=24&d=3", .isa = "ref", .threads = 1};
    const drove_status status = drove_eval(&use, &score);
    if (status != DROVE_OK) fuzz_check_refusal(status);
    if (status != DROVE_OK && is_as_it_was(f, "model.safetensors")) abort();
    FILE *none = fopen("/dev/null", "w");
    if (none == NULL) abort();
    if (drove_predict(&use, none) != status) abort(); /* both, or neither */
    fclose(none);
}

/* With the options that run.json has, if it has any; for few epochs. */
static drove_status go_on(const folder *f, int *exit_status)
{
    drove_options options = drove__options_default();
    const drove_status status = drove_options_resume(&options, f->run->folder);
    if (status != DROVE_OK) {
        fuzz_check_refusal(status);
        return status;
    }
    drove_options plain = f->run->options; /* what the damage may have changed stays small */
    if (memcmp(options.data, plain.data, sizeof plain.data) != 0) return DROVE_E_ARG;
    return fuzz_go_on(f->run, &plain, exit_status);
}

static void check_run(const folder *f)
{
    int exit_status = 0;
    const bool has_options = is_as_it_was(f, "run.json");
    const fuzz_file_bytes *last = fuzz_find_file(f->file, f->n_files, "state.safetensors");
    drove_safetensors st;
    char path[FUZZ_PATH_SIZE];
    snprintf(path, sizeof path, "%s/state.safetensors", f->run->folder);
    const bool is_read = last->bytes != NULL && drove__safetensors_load(path, &st) == DROVE_OK;
    if (is_read) drove__safetensors_fini(&st);
    const bool has_state =
        is_as_it_was(f, "state.safetensors") ||
        (!is_read && is_as_it_was(f, "state.previous.safetensors")); /* the one before it */
    const drove_status status = go_on(f, &exit_status);
    if (status != DROVE_OK) {
        if (has_options && has_state) abort();
        check_left_alone(f);
        return;
    }
    if (go_on(f, &exit_status) != DROVE_OK && exit_status == 0) abort(); /* what was written */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    folder f;
    begin(&f, data, size_bytes);
    write_folder(&f);
    check_model(&f);
    check_run(&f);
    fuzz_free_files(f.file, f.n_files);
    return 0;
}
