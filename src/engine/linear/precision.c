/* engine/linear/precision.c - from a signature to number formats, or to the reason why not. */
#include "engine/linear/precision.h"

#include "base/status.h"
#include "engine/fixed/format.h"

#include <stdio.h>
#include <string.h>

/* The number format of a term; false: there is none with kernels. */
static bool number_of(drove_dmgc_term meaning, drove_number *out)
{
    if (meaning.is_float) {
        *out = DROVE_F32;
        return meaning.bits == 32;
    }
    *out = meaning.bits == 4 ? DROVE_I4 : meaning.bits == 8 ? DROVE_I8 : DROVE_I16;
    return meaning.bits == 4 || meaning.bits == 8 || meaning.bits == 16;
}

static drove_status refuse(const char *text, char class, drove_dmgc_term found, const char *which)
{
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "--precision %s: expected %s, which there are kernels for, found %c%u%s",
                       text, which, class, found.bits, found.is_float ? "f" : "");
}

static drove_status resolve_formats(const drove_dmgc *s, drove_precision *p)
{
    drove_dmgc_term d = drove_dmgc_meaning(s, DROVE_DMGC_DATASET);
    drove_dmgc_term m = drove_dmgc_meaning(s, DROVE_DMGC_MODEL);
    drove_dmgc_term i = s->term[DROVE_DMGC_INDEX];
    if (!number_of(d, &p->data))
        return refuse(p->text, 'D', d,
                      "D8, D16 or D32f (linear models: also D4; networks: D2 to D16 with "
                      "?simulated=yes)");
    if (!number_of(m, &p->model))
        return refuse(p->text, 'M', m, "M8, M16 or M32f (linear models: also M4)");
    if (i.is_present && i.bits != 8 && i.bits != 16 && i.bits != 32)
        return refuse(p->text, 'i', i, "i8, i16 or i32");

    /* C is for the transport (cluster/codec.h). */
    drove_dmgc_term g = drove_dmgc_meaning(s, DROVE_DMGC_GRADIENT);
    const bool is_whole = g.is_float && g.bits == 32;
    if (!is_whole &&
        (g.is_float || g.bits < DROVE_LEAST_GRADIENT_BITS || g.bits > DROVE_MOST_GRADIENT_BITS))
        return refuse(p->text, 'G', g, "G2 to G24, G32f or no G");
    p->gradient_bits = is_whole ? 0 : g.bits;
    return DROVE_OK;
}

static drove_status parse(const char *signature, drove_dmgc *s, drove_precision *p)
{
    DROVE_TRY(drove__fixed_signature(signature, s));
    drove_status status = drove_dmgc_print(s, p->text);
    return status == DROVE_OK ? DROVE_OK : drove__fail_in(status, "--precision");
}

drove_status drove__precision_resolve(const char *signature, bool is_sparse, drove_precision *out)
{
    drove_dmgc s;
    drove_precision p = {0};
    DROVE_TRY(parse(signature, &s, &p));
    DROVE_TRY(resolve_formats(&s, &p));
    if (is_sparse && (p.data == DROVE_I4 || p.model == DROVE_I4))
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "--precision %s: the data are sparse: expected D and M of 8, 16 or 32f "
                           "bits, as 4 bits are for dense data, found %s",
                           p.text, p.data == DROVE_I4 ? "D4" : "M4");
    drove_dmgc_term i = s.term[DROVE_DMGC_INDEX];
    if (is_sparse && !i.is_present) {
        return drove__fail(DROVE_E_ARG,
                           "--precision %s: the data are sparse: expected an index term, as in "
                           "D8i16M8, found none",
                           p.text);
    }
    if (!is_sparse && i.is_present && !s.is_possibly_sparse) {
        return drove__fail(DROVE_E_ARG,
                           "--precision %s: the data are dense: expected no index term, found i%u",
                           p.text, i.bits);
    }
    p.index_bits = is_sparse ? s.term[DROVE_DMGC_INDEX].bits : 0;
    *out = p;
    return DROVE_OK;
}

drove_status drove__precision_check(const char *signature)
{
    drove_fixed of_network;
    drove_dmgc s;
    drove_precision p = {0};
    drove_status status = drove__fixed_parse(signature, &of_network);
    if (status == DROVE_OK || drove__fixed_is_own(signature)) return status;
    DROVE_TRY(parse(signature, &s, &p));
    return resolve_formats(&s, &p);
}

drovek_factors drove__precision_factors(const char *precision)
{
    const bool is_bf16 =
        strncmp(precision, "bf16", 4) == 0 && (precision[4] == '\0' || precision[4] == '?');
    return is_bf16 ? DROVEK_FACTORS_BF16 : DROVEK_FACTORS_F32;
}

bool drove__precision_is_words(const char *precision)
{
    return precision[0] != '\0' && !drove__precision_is_exchange(precision) &&
           strcmp(precision, "bf16") != 0;
}

bool drove__precision_is_exchange(const char *signature)
{
    drove_dmgc s;
    if (drove_dmgc_parse(signature, &s) != DROVE_OK) return false;
    drove_dmgc_term g = s.term[DROVE_DMGC_GRADIENT], c = s.term[DROVE_DMGC_COMMUNICATION];
    bool has_numbers = s.term[DROVE_DMGC_DATASET].is_present ||
                       s.term[DROVE_DMGC_INDEX].is_present || s.term[DROVE_DMGC_MODEL].is_present;
    return c.is_present && !has_numbers && (!g.is_present || g.bits == c.bits);
}

bool drove__precision_has_exchange(const char *signature)
{
    drove_dmgc s;
    return drove_dmgc_parse(signature, &s) == DROVE_OK &&
           s.term[DROVE_DMGC_COMMUNICATION].is_present;
}
