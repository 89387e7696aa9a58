/* data/read/npz.c - reads NumPy's archives: ZIP files of NPY arrays, as numpy.savez and
 * numpy.savez_compressed write them.
 *
 * Members are chosen by ?x= and ?y=, without ".npy"; without these keys by the usual names below.
 * An archive with a pair for training and one for tests (mnist.npz) has a test part.
 */
#include "base/zip.h"
#include "data/read/npy.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

typedef struct pair {
    const char *x, *y;
} pair;

/* Training, and test; the first row whose training examples are there counts. */
static const pair parts[][2] = {
    {{"x_train", "y_train"}, {"x_test", "y_test"}},
    {{"X_train", "y_train"}, {"X_test", "y_test"}},
    {{"X_train", "Y_train"}, {"X_test", "Y_test"}},
    {{"train_images", "train_labels"}, {"test_images", "test_labels"}},
    {{"train_x", "train_y"}, {"test_x", "test_y"}},
};

static const char *const x_names[] = {"x", "X", "data", "images", "features", "arr_0"};
static const char *const y_names[] = {"y", "Y", "labels", "label", "target", "targets", "arr_1"};

enum { NAMES_SHOWN = 12 };

/* ---- members ---- */

/* The member NAME or NAME.npy, from the first-th on; false: there is none. */
static bool find(const drove_zip *zip, const char *name, size_t first, size_t *member)
{
    size_t n = strlen(name);
    for (size_t i = first; i < drove__zip_count(zip); i++) {
        const char *found = drove__zip_name(zip, i);
        if (strncmp(found, name, n) != 0) continue;
        if (found[n] != '\0' && strcmp(found + n, ".npy") != 0) continue;
        *member = i;
        return true;
    }
    return false;
}

static bool has(const drove_zip *zip, const char *name)
{
    size_t member;
    return find(zip, name, 0, &member);
}

static drove_status fail_member(const drove_zip *zip, const char *path, const char *key,
                                const char *expected)
{
    char names[512];
    /* "x_train, y_train ..." */
    size_t n = drove__zip_count(zip), used = 0;
    names[0] = '\0';
    for (size_t i = 0; i < n && i < NAMES_SHOWN && used < sizeof names; i++) {
        const char *name = drove__zip_name(zip, i);
        size_t length = strlen(name);
        if (length > 4 && strcmp(name + length - 4, ".npy") == 0) length -= 4;
        int more = snprintf(names + used, sizeof names - used, "%s%.*s", i > 0 ? ", " : "",
                            length < 40 ? (int)length : 40, name);
        used += (size_t)more;
    }
    if (n > NAMES_SHOWN && used < sizeof names) snprintf(names + used, sizeof names - used, " ...");
    return drove__fail(DROVE_E_DATA, "%s: expected %s (?%s=NAME), found %s", path, expected, key,
                       names[0] != '\0' ? names : "an empty archive");
}

static drove_status open_member(const drove_zip *zip, const char *path, const char *key,
                                const char *name, drove_reader **out)
{
    size_t member, again;
    char expected[96];
    if (find(zip, name, 0, &member)) {
        if (!find(zip, name, member + 1, &again)) return drove__zip_member(zip, member, out);
        return drove__fail(DROVE_E_DATA, "%s: expected one member \"%.60s\", found two", path,
                           name);
    }
    snprintf(expected, sizeof expected, "a member \"%.60s\"", name);
    return fail_member(zip, path, key, expected);
}

/* ---- the pair ---- */

/* The row of parts whose training examples and targets are there, or else the examples; NULL:
 * none. */
static const pair *find_parts(const drove_zip *zip)
{
    for (size_t i = 0; i < DROVE_COUNT(parts); i++) {
        if (has(zip, parts[i][0].x) && has(zip, parts[i][0].y)) return parts[i];
    }
    for (size_t i = 0; i < DROVE_COUNT(parts); i++) {
        if (has(zip, parts[i][0].x)) return parts[i];
    }
    return NULL;
}

static const char *first_of(const drove_zip *zip, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (has(zip, names[i])) return names[i];
    }
    return NULL;
}

typedef struct settings {
    const char *x, *y; /* NULL: not given */
    bool is_unlabelled;
    drove_npy_options read;
} settings;

static const char *const none[] = {"none", NULL};
static const drove_spec_key keys[] = {
    {"x", NULL, DROVE_AS_TEXT(settings, x), .help = "member of the examples"},
    {"y", NULL, DROVE_AS_TEXT(settings, y), .help = "member of the targets"},
    {"label", NULL, DROVE_AS_EITHER(settings, is_unlabelled, none),
     .help = "none: rows to predict, without targets"},
    DROVE_SPEC_KEYS_OF(settings, read, drove_npy_options, drove__npy_keys),
    DROVE_SPEC_END,
};

static drove_status read_members(const drove_zip *zip, const char *path, const settings *set,
                                 int part, const drove_shard *shard, drove_storage **out)
{
    /* The names of the members to read; of rows without targets, y is none. */
    const pair *both = find_parts(zip);
    const char *x_name = set->x, *y_name = set->y;
    bool is_usual = x_name == NULL;
    if (part == 1 && (x_name != NULL || both == NULL || !has(zip, both[1].x)))
        return fail_member(zip, path, "x", "members for tests such as \"x_test\" and \"y_test\"");
    if (x_name == NULL) x_name = first_of(zip, x_names, DROVE_COUNT(x_names));
    if (is_usual && both != NULL) x_name = both[part].x;
    if (x_name == NULL)
        return fail_member(zip, path, "x", "examples called x, X, data, images ...");
    if (y_name == NULL && is_usual && both != NULL) y_name = both[part].y;
    if (y_name == NULL) y_name = first_of(zip, y_names, DROVE_COUNT(y_names));
    if (set->is_unlabelled) y_name = NULL;
    else if (y_name == NULL)
        return fail_member(zip, path, "y", "targets called y, Y, labels, target ...");

    drove_reader *x = NULL, *y = NULL;
    drove_status status = open_member(zip, path, "x", x_name, &x);
    if (status != DROVE_OK) goto end;
    if (y_name != NULL && (status = open_member(zip, path, "y", y_name, &y)) != DROVE_OK) goto end;
    status = drove__npy_read_pair(x, y, &set->read, shard, out);
end:
    drove__reader_close(x);
    drove__reader_close(y);
    return status;
}

static drove_status read_npz(const drove_spec *spec, int part, const drove_shard *shard,
                             drove_storage **out)
{
    drove_zip *zip;
    settings set = {.read = {.channels = DROVE_CHANNELS_BY_SHAPE}};
    DROVE_TRY(drove__spec_take(spec, keys, &set));
    if (strcmp(spec->arg[0], "-") == 0)
        return drove__fail(DROVE_E_ARG, "npz: expected a file, as an archive's directory stands at "
                                        "its end, found standard input (-)");
    DROVE_TRY(drove__zip_open(spec->arg[0], &zip));
    drove_status status = read_members(zip, spec->arg[0], &set, part, shard, out);
    drove__zip_close(zip);
    return status;
}

/* An archive that cannot be read has none; reading it says why. */
static bool finds_test(const drove_spec *spec)
{
    drove_zip *zip;
    settings set = {.x = NULL};
    if (drove__spec_take(spec, keys, &set) != DROVE_OK || set.x != NULL) return false;
    if (drove__zip_open(spec->arg[0], &zip) != DROVE_OK) return false;
    const pair *both = find_parts(zip);
    bool found = both != NULL && has(zip, both[1].x);
    drove__zip_close(zip);
    return found;
}

const drove_format_ops drove__format_npz = {
    .name = "npz",
    .help = "a NumPy archive: x and y, x_train, y_train ..., or members by name; bytes stay bytes",
    .source = "NumPy Enhancement Proposal 1; PKWARE APPNOTE",
    .arguments = "FILE",
    .least_args = 1,
    .most_args = 1,
    .keys = keys,
    .read = read_npz,
    .has_test = true,
    .finds_test = finds_test,
    .reads_shards = true,
    .reads_unlabelled = true,
    .default_scaling = DROVE_SCALE_NONE,
};
