/* tests/fuzz/fuzz_words.c - values of options with a grammar of their own, each parser on the same
 * text: what is accepted is in range, and what has a printed form is printed as a text that reads
 * back alike.
 */
#include "base/print.h"
#include "base/spec.h"
#include "cluster/codec.h"
#include "data/augment.h"
#include "data/read/pictures.h"
#include "data/weights.h"
#include "engine/features.h"
#include "engine/linear/precision.h"
#include "engine/linear/rounding.h"
#include "config/words.h"
#include "config/until.h"

#include <drove/train.h>

#include "fuzz_text.h"

#include <math.h>

static void check_features(const char *text)
{
    drove_features_options f, again;
    char printed[DROVE_FEATURES_TEXT_SIZE], second[DROVE_FEATURES_TEXT_SIZE];
    if (!fuzz_is_ok(drove__features_parse(text, &f)) || f.ops == NULL) return;
    if (f.n_out < 1 || f.n_out > DROVE_MOST_FEATURES || !(f.gamma >= 0.0)) abort();
    drove__features_print(&f, printed);
    if (drove__features_parse(printed, &again) != DROVE_OK) abort();
    drove__features_print(&again, second);
    if (strcmp(printed, second) != 0 || again.n_out != f.n_out || again.seed != f.seed) abort();
}

static void check_augment(const char *text)
{
    drove_augment a, again;
    char printed[DROVE_AUGMENT_TEXT_SIZE];
    if (!fuzz_is_ok(drove__augment_scan(text, &a))) return;
    if (a.crop_height > a.height + 2 * a.pad || a.crop_width > a.width + 2 * a.pad) abort();
    drove__augment_print(&a, printed);
    if (drove__augment_scan(printed, &again) != DROVE_OK) abort();
    if (again.channels != a.channels || again.height != a.height || again.width != a.width ||
        again.crop_height != a.crop_height || again.crop_width != a.crop_width)
        abort();
}

static void check_until(const char *text)
{
    drove_until u;
    if (fuzz_is_ok(drove__until_parse(text, &u)) && !(u.epochs >= 0.0)) abort();
}

static void check_precision(const char *text)
{
    drove_rounding rounding;
    drove_precision precision;
    unsigned bits;
    if (fuzz_is_ok(drove__rounding_parse(text, &rounding)) && rounding.ops == NULL) abort();
    const bool is_good = fuzz_is_ok(drove__precision_check(text));
    for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
        if (!fuzz_is_ok(drove__precision_resolve(text, is_sparse, &precision))) continue;
        if (!is_good || (precision.index_bits != 0) != (is_sparse != 0)) abort();
    }
    if (fuzz_is_ok(drove__codec_parse(text, &bits)) && bits != 32 && bits != 16 && bits != 8 &&
        bits != 1)
        abort();
    (void)drove__precision_is_exchange(text);
    (void)drove__precision_has_exchange(text);
}

static void check_rest(const char *text)
{
    drove_save_every save;
    drove_input_shape shape;
    uint64_t n_bytes;
    bool is_auto;
    unsigned n;
    fuzz_is_ok(drove__save_every_parse(text, &save));
    if (fuzz_is_ok(drove__loaders_parse(text, &is_auto, &n)) && is_auto &&
        strcmp(text, "auto") != 0)
        abort();
    if (fuzz_is_ok(drove__parse_bytes("--memory", text, &n_bytes)) && n_bytes == 0) abort();
    if (fuzz_is_ok(drove_input_shape_set(&shape, text, "10")) &&
        (shape.channels == 0 || shape.height == 0 || shape.width == 0))
        abort();
}

/* Of data with examples of all classes, and of some. */
static void check_weights(const char *text, const char *spec, drove_data **data)
{
    drove_data *view, *test;
    if (*data == NULL && drove_data_open(spec, NULL, 1, data, &test) != DROVE_OK) abort();
    if (drove__data_view(*data, &view) != DROVE_OK) abort();
    if (fuzz_is_ok(drove__weights_of_classes(view, text)) && *text != '\0') {
        for (size_t i = 0; i < view->storage->n_classes; i++)
            if (!(view->class_weight[i] >= 0.0f) || !isfinite(view->class_weight[i])) abort();
        if (!(view->mean_weight > 0.0)) abort();
    }
    drove_data_destroy(view);
}

/* What is shown of it cannot move a terminal's cursor. */
static void check_plain(const char *text)
{
    char shown[61];
    if (drove__print_plain(text, shown, sizeof shown) != shown) abort();
    for (const char *c = shown; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    static drove_data *all, *some;
    drove_spec spec;
    drove_pictures_options pictures;
    char *text = fuzz_text(data, size_bytes);
    check_features(text);
    check_augment(text);
    check_until(text);
    check_precision(text);
    check_rest(text);
    check_weights(text, "synth:digits?n=50", &all);
    check_weights(text, "synth:digits?n=3", &some);
    check_plain(text);
    if (fuzz_is_ok(drove__spec_parse(text, &spec))) {
        fuzz_is_ok(drove__spec_take(&spec, drove__pictures_keys, &pictures));
        drove__spec_fini(&spec);
    }
    free(text);
    return 0;
}
