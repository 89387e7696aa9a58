/* engine/fake/script.c - see script.h. */
#include "engine/fake/script.h"

#include "base/mem.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>

const char *const drove__fake_keys[] = {"speed",  "delay_us", "memory",  "fail_after", "hang_after",
                                        "jitter", "seed",     "compute", "deaf",       NULL};

drove_fake_script drove__fake_script_default(void)
{
    return (drove_fake_script){
        .speed = 100e3, .fail_after = UINT64_MAX, .hang_after = UINT64_MAX, .computes = true};
}

drove_status drove__fake_script_parse(const drove_spec *spec, drove_fake_script *out)
{
    static const char *const answers[] = {"no", "yes"};
    drove_fake_script s = drove__fake_script_default();
    double speed = s.speed / 1e3, delay_us = 0.0;
    unsigned computes = s.computes, deaf = s.is_deaf;
    const char *memory = drove__spec_get(spec, "memory", NULL);
    DROVE_TRY(drove__spec_real(spec, "speed", DBL_MIN, 1e9, &speed));
    DROVE_TRY(drove__spec_real(spec, "delay_us", 0.0, 1e9, &delay_us));
    if (memory != NULL) DROVE_TRY(drove__parse_bytes("fake?memory", memory, &s.memory_bytes));
    DROVE_TRY(drove__spec_u64(spec, "fail_after", 0, UINT64_MAX - 1, &s.fail_after));
    DROVE_TRY(drove__spec_u64(spec, "hang_after", 0, UINT64_MAX - 1, &s.hang_after));
    DROVE_TRY(drove__spec_real(spec, "jitter", 0.0, 1.0 - DBL_EPSILON / 2, &s.jitter));
    DROVE_TRY(drove__spec_u64(spec, "seed", 0, UINT64_MAX, &s.seed));
    DROVE_TRY(drove__spec_word(spec, "compute", answers, DROVE_COUNT(answers), &computes));
    DROVE_TRY(drove__spec_word(spec, "deaf", answers, DROVE_COUNT(answers), &deaf));
    s.speed = speed * 1e3;
    s.delay_s = delay_us / 1e6;
    s.computes = computes != 0;
    s.is_deaf = deaf != 0;
    *out = s;
    return DROVE_OK;
}

drove_fake_outcome drove__fake_batch(const drove_fake_script *script, uint64_t batch,
                                     uint64_t n_rows)
{
    drove_fake_outcome out = {.fate = DROVE_FAKE_DONE};
    double seconds = script->delay_s + (double)n_rows / script->speed;
    if (script->jitter > 0.0) {
        drove_rng rng;
        drove__rng_seed(&rng, script->seed, DROVE_RNG_FAKE, batch);
        seconds *= 1.0 + script->jitter * (2.0 * drove__rng_uniform(&rng) - 1.0);
    }
    /* 100 years: longer than any run, and no overflow. */
    out.duration_ns = (uint64_t)llround(fmin(seconds, 3e9) * 1e9);
    if (batch >= script->fail_after) out.fate = DROVE_FAKE_FAILS;
    else if (batch >= script->hang_after) out.fate = DROVE_FAKE_HANGS;
    return out;
}
