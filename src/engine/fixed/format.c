/* engine/fixed/format.c - see format.h. */
#include "engine/fixed/format.h"

#include "base/spec_keys.h"
#include "engine/linear/dmgc.h"

#include <stdio.h>
#include <string.h>

bool drove__fixed_is_own(const char *precision)
{
    return strchr(precision, '?') != NULL;
}

static drove_status take_bits(const char *text, char class, drove_dmgc_term t, bool is_simulated,
                              unsigned *out)
{
    const unsigned least = DROVE_FIXED_LEAST_BITS, most = DROVE_FIXED_MOST_BITS;
    *out = t.is_float ? 0 : t.bits;
    if (t.is_float && t.bits == 32) return DROVE_OK;
    if (!t.is_float && (t.bits == 8 || t.bits == 16)) return DROVE_OK;
    if (!t.is_float && is_simulated && t.bits >= least && t.bits <= most) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "--precision %s: expected %c8, %c16 or %c32f, or %c%u to %c%u with "
                       "?simulated=yes, found %c%u%s",
                       text, class, class, class, class, least, class, most, class, t.bits,
                       t.is_float ? "f" : "");
}

drove_status drove__fixed_signature(const char *text, drove_dmgc *out)
{
    drove_status status = drove_dmgc_parse(text, out);
    if (status == DROVE_OK) return DROVE_OK;
    if (text[0] != '\0' && strchr("DiMGC[", text[0]) != NULL)
        return drove__fail_in(status, "--precision");
    return drove__fail(DROVE_E_ARG,
                       "--precision: expected none, bf16 or a DMGC signature such as D8M8, D16M16 "
                       "or C8s, found \"%.20s\"",
                       text);
}

static drove_status read_terms(const char *text, const char *signature, bool is_simulated,
                               drove_fixed *out)
{
    drove_dmgc s;
    drove_dmgc_term g;
    DROVE_TRY(drove__fixed_signature(signature, &s));
    if (s.term[DROVE_DMGC_INDEX].is_present)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "--precision %s: expected terms of D, M, G and C for a network, found i",
                           text);
    if (s.term[DROVE_DMGC_COMMUNICATION].is_present && strchr(text, '?') != NULL)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "--precision %s: expected no C term beside a key, found C", text);
    g = drove_dmgc_meaning(&s, s.term[DROVE_DMGC_GRADIENT].is_present ? DROVE_DMGC_GRADIENT
                                                                      : DROVE_DMGC_DATASET);
    DROVE_TRY(
        take_bits(text, 'D', drove_dmgc_meaning(&s, DROVE_DMGC_DATASET), is_simulated, &out->data));
    DROVE_TRY(
        take_bits(text, 'M', drove_dmgc_meaning(&s, DROVE_DMGC_MODEL), is_simulated, &out->model));
    return take_bits(text, 'G', g, is_simulated, &out->gradient);
}

static const char *const scales[] = {"layer", "channel", NULL};
static const char *const masters[] = {"bf16", NULL};
static const drove_spec_key bf16_keys[] = {
    {"masters", NULL, DROVE_AS_EITHER(drove_fixed, in_bf16, masters),
     .help = "number format of the parameters"},
    DROVE_SPEC_END,
};
static const drove_spec_key signature_keys[] = {
    {"simulated", "no", DROVE_AS_FLAG(drove_fixed, is_simulated), .help = "any width from 2 to 16"},
    {"scales", "layer", DROVE_AS_EITHER(drove_fixed, by_channel, scales),
     .help = "what of a network's weights has a unit of its own"},
    DROVE_SPEC_END,
};

drove_status drove__fixed_parse(const char *precision, drove_fixed *out)
{
    drove_spec spec = {0};
    drove_fixed f = {0};
    if (strlen(precision) >= sizeof f.text)
        return drove__fail(DROVE_E_ARG, "--precision: expected at most %zu characters, found %zu",
                           sizeof f.text - 1, strlen(precision));
    strcpy(f.text, precision);
    drove_status status = drove__spec_parse(precision, &spec);
    if (status != DROVE_OK) goto fail;
    const bool is_bf16 = strcmp(spec.name, "bf16") == 0;
    status = drove__spec_read(&spec, is_bf16 ? bf16_keys : signature_keys, &f);
    if (status != DROVE_OK) {
        status = drove__fail_in(status, "--precision");
        goto fail;
    }
    if (is_bf16) {
        f.model = 16;
        if (!f.in_bf16)
            status = drove__fail(DROVE_E_ARG, "--precision %s: masters: expected bf16, found \"\"",
                                 precision);
    } else {
        status = read_terms(precision, spec.name, f.is_simulated, &f);
        if (status == DROVE_OK && f.by_channel && f.model == 0)
            status = drove__fail(DROVE_E_UNSUPPORTED,
                                 "--precision %s: expected an M term of integers, whose scales "
                                 "these are, found floats",
                                 precision);
    }
    if (status == DROVE_OK) *out = f;
fail:
    drove__spec_fini(&spec);
    return status;
}
