/* engine/fake/script.c - see script.h. */
#include "engine/fake/script.h"

#include "base/mem.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>

typedef struct settings {
    drove_fake_script script;
    double speed, delay_us; /* thousand examples/s */
} settings;

const drove_spec_key drove__fake_keys[] = {
    {"speed", "100", DROVE_AS_REAL(settings, speed, DBL_MIN, 1e9), .help = "thousand examples/s"},
    {"delay_us", "0", DROVE_AS_REAL(settings, delay_us, 0.0, 1e9),
     .help = "of each batch, beside its examples"},
    {"memory", NULL, DROVE_AS_BYTES(settings, script.memory_bytes),
     .help = "of the device; without it no end"},
    {"fail_after", NULL, DROVE_AS_COUNT(settings, script.fail_after, 0, UINT64_MAX - 1),
     .help = "batches that are done before one fails"},
    {"hang_after", NULL, DROVE_AS_COUNT(settings, script.hang_after, 0, UINT64_MAX - 1),
     .help = "batches that are done before one never ends"},
    {"jitter", "0", DROVE_AS_REAL(settings, script.jitter, 0.0, 1.0 - DBL_EPSILON / 2),
     .help = "share of its time that a batch takes more or less"},
    {"seed", "0", DROVE_AS_COUNT(settings, script.seed, 0, UINT64_MAX), .help = "of the jitter"},
    {"compute", "yes", DROVE_AS_FLAG(settings, script.computes),
     .help = "gradients are real, else zero"},
    {"deaf", "no", DROVE_AS_FLAG(settings, script.is_deaf),
     .help = "one that hangs does not heed a time-out"},
    DROVE_SPEC_END,
};

drove_fake_script drove__fake_script_default(void)
{
    return (drove_fake_script){
        .speed = 100e3, .fail_after = UINT64_MAX, .hang_after = UINT64_MAX, .computes = true};
}

drove_status drove__fake_script_parse(const drove_spec *spec, drove_fake_script *out)
{
    settings set = {.script = drove__fake_script_default()};
    DROVE_TRY(drove__spec_take(spec, drove__fake_keys, &set));
    set.script.speed = set.speed * 1e3;
    set.script.delay_s = set.delay_us / 1e6;
    *out = set.script;
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
