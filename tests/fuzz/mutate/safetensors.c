/* tests/fuzz/mutate/safetensors.c - changes safetensors files and keeps what hides the change from
 * a reader in order: the length of the header, its JSON, offsets that follow each other, and the
 * checksums.  One change in eight leaves all that as it comes.
 */
#include "../safetensors_repair.h"
#include "mutate.h"

/* Values of metadata that some reader knows. */
static const char *const values[] = {"",
                                     "0",
                                     "1",
                                     "2",
                                     "-1",
                                     "65536",
                                     "4294967295",
                                     "18446744073709551615",
                                     "0.1",
                                     "nan",
                                     "1e308",
                                     "none",
                                     "standard",
                                     "unit",
                                     "minmax",
                                     "dense",
                                     "sparse",
                                     "u8",
                                     "linear",
                                     "logistic",
                                     "mlp:3",
                                     "mlp:4294967295",
                                     "mlp:2,2",
                                     "softmax",
                                     "squared",
                                     "hinge",
                                     "drove-state-6",
                                     "drove-model-2",
                                     "1x2x2",
                                     "3x4x4?crop=2x2&pad=1",
                                     "rff:8?gamma=0.1&seed=1",
                                     "[]",
                                     "[\"a\",\"b\"]",
                                     "{}",
                                     "D8",
                                     "D16",
                                     "class",
                                     "value",
                                     "labels",
                                     "easgd",
                                     "hogwild",
                                     "sequential",
                                     "adam"};
static const char *const types[] = {"F32", "F64", "U64", "I64", "U32", "I32",
                                    "U16", "I16", "U8",  "I8",  "BF16"};

/* The n-th member of an object; false: it is empty. */
static bool pick(json_t *object, mutate_random *r, const char **key, json_t **value)
{
    size_t n = json_object_size(object), left = mutate_below(r, n);
    if (n == 0) return false;
    json_object_foreach(object, *key, *value)
    {
        if (left-- == 0) return true;
    }
    return false;
}

/* A pair of metadata gets another value, a value of another pair, or goes. */
static void change_meta(json_t *header, mutate_random *r)
{
    const char *key, *other;
    json_t *value, *from, *meta = json_object_get(header, "__metadata__");
    if (!pick(meta, r, &key, &value)) return;
    switch (mutate_below(r, 4)) {
    case 0:
        if (!pick(meta, r, &other, &from)) return;
        json_object_set(meta, key, from);
        return;
    case 1: json_object_del(meta, key); return;
    case 2: { /* a part of the text is cut out, or a byte changed */
        char text[4096];
        const char *old = json_string_value(value);
        if (old == NULL || strlen(old) >= sizeof text || *old == '\0') return;
        strcpy(text, old);
        const size_t n = strlen(text), at = mutate_below(r, n), n_cut = mutate_below(r, n - at) + 1;
        if (mutate_below(r, 2) == 0) text[at] = (char)(' ' + mutate_below(r, 95));
        else memmove(text + at, text + at + n_cut, n - at - n_cut + 1);
        json_object_set_new(meta, key, json_string(text));
        return;
    }
    default: json_object_set_new(meta, key, json_string(values[mutate_below(r, COUNT(values))]));
    }
}

static void set_type_or_shape(json_t *tensor, mutate_random *r)
{
    json_t *shape = json_object_get(tensor, "shape");
    switch (mutate_below(r, 3)) {
    case 0:
        json_object_set_new(tensor, "dtype", json_string(types[mutate_below(r, COUNT(types))]));
        return;
    case 1: json_array_insert_new(shape, 0, json_integer((json_int_t)mutate_below(r, 3))); return;
    default:
        json_array_set_new(shape, mutate_below(r, json_array_size(shape) + 1),
                           json_integer((json_int_t)mutate_below(r, 70)));
    }
}

/* A tensor gets another name, type, shape or place, or goes with its bytes left to nobody. */
static void change_tensor(json_t *header, mutate_random *r)
{
    const char *key, *other;
    json_t *tensor, *from;
    if (!pick(header, r, &key, &tensor) || strcmp(key, "__metadata__") == 0) return;
    switch (mutate_below(r, 4)) {
    case 0: set_type_or_shape(tensor, r); return;
    case 1: { /* two of them change their names */
        if (!pick(header, r, &other, &from) || strcmp(other, "__metadata__") == 0) return;
        char name[128];
        strncpy(name, other, sizeof name - 1);
        name[sizeof name - 1] = '\0';
        json_incref(tensor);
        json_incref(from);
        json_object_set_new(header, name, tensor);
        if (key != other) json_object_set_new(header, key, from);
        else json_decref(from);
        return;
    }
    case 2: json_object_del(header, key); return;
    default: {
        json_t *at = json_object_get(tensor, "data_offsets");
        json_array_set_new(at, mutate_below(r, 2), json_integer((json_int_t)mutate_below(r, 5000)));
    }
    }
}

/* Floats and counts that readers have to expect, over those of the file. */
static void change_body(uint8_t *body, size_t n, mutate_random *r)
{
    static const uint64_t patterns[] = {0,
                                        1,
                                        UINT64_MAX,
                                        0x7ff0000000000000u,
                                        0x7ff8000000000000u,
                                        0x7f8000007f800000u,
                                        0x7fc000007fc00000u,
                                        0x8000000000000000u,
                                        0x4330000000000000u,
                                        0x3ff0000000000000u,
                                        0x3f8000003f800000u,
                                        1000000};
    if (n < 8) return;
    for (size_t i = mutate_below(r, 4) + 1; i > 0; i--) {
        const size_t at = mutate_below(r, n / 8) * 8;
        memcpy(body + at, &patterns[mutate_below(r, COUNT(patterns))], 8);
    }
}

/* Of the body, libFuzzer's own changes at the same size. */
static void change_bytes(uint8_t *body, size_t n)
{
    if (n > 0) (void)LLVMFuzzerMutate(body, n, n);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    mutate_random r = mutate_seed(seed);
    repair_parts p;
    if (mutate_below(&r, 8) == 0 || !repair_open(data, size, &p))
        return LLVMFuzzerMutate(data, size, most);
    uint8_t *body = data + (p.body - data);
    for (size_t i = mutate_below(&r, 3) + 1; i > 0; i--) {
        switch (mutate_below(&r, 6)) {
        case 0:
        case 1: change_meta(p.header, &r); break;
        case 2: change_tensor(p.header, &r); break;
        case 3: change_bytes(body, p.n_body); break;
        default: change_body(body, p.n_body, &r);
        }
    }
    repair_sums(&p);
    const size_t written = repair_write(&p, data, most);
    json_decref(p.header);
    return written > 0 ? written : LLVMFuzzerMutate(data, size, most);
}
