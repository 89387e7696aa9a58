/* optim/cocob.c - COCOB: steps by coin betting, without a step size to choose.
 *
 * Source: Orabona, Tommasi, Training Deep Networks without Learning Rates Through Coin Betting,
 * NIPS 2017, Algorithm 2 (COCOB-Backprop).  For each parameter, with h = -g the outcome of the
 * coin:
 *
 *   L' = max(L, |h|)        the largest gradient            G' = G + |h|
 *   R' = max(R + bet h, 0)  the reward of all bets          S' = S + h
 *   bet' = S' (L' + R') / (L' max(G' + L', alpha L'))       theta' = theta + eta (bet' - bet)
 *
 * The paper's w(t) - w(1) is bet here, computed again from the state, so that w(1) need not be kept
 * and steps add up; its step size is eta = 1.  Its L starts at a small number; here a bet is 0 as
 * long as every gradient was.
 *
 * The vectors may be shared with racing writers, so each chunk is copied in and out by kernels.
 */
#include "optim/optim.h"

#include <math.h>

enum { CHUNK = 256, N_STATE = 4 }; /* floats of stack, five times */
enum { LARGEST, SUM_OF_SIZES, REWARD, SUM };

static const drove_spec_key keys[] = {
    {"alpha", "100", DROVE_AS_FLOAT(drove_rule, mu, 1.0, 1e6),
     .help = "bets are divided by at least so many of the largest gradient"},
    DROVE_SPEC_END,
};

static float bet_of(const float state[N_STATE], float alpha)
{
    float largest = state[LARGEST];
    if (!(largest > 0.0f)) return 0.0f;
    float scale = fmaxf(state[SUM_OF_SIZES] + largest, alpha * largest);
    return state[SUM] / scale * (1.0f + state[REWARD] / largest);
}

static void apply(const drove_rule *rule, const drovek_table *k, const drovek_update *u, float eta,
                  uint64_t t)
{
    float theta[CHUNK], gradient[CHUNK], s[N_STATE][CHUNK];
    (void)t;
    for (size_t at = 0; at < u->n; at += CHUNK) {
        size_t length = u->n - at < CHUNK ? u->n - at : CHUNK;
        k->copy_f32(gradient, u->g + at, length); /* out may be g */
        k->copy_f32(theta, u->in + at, length);
        for (unsigned i = 0; i < N_STATE; i++) k->copy_f32(s[i], u->state_in[i] + at, length);
        for (size_t i = 0; i < length; i++) {
            float now[N_STATE] = {s[0][i], s[1][i], s[2][i], s[3][i]};
            float h = -gradient[i], before = bet_of(now, rule->mu);
            now[LARGEST] = fmaxf(now[LARGEST], fabsf(h));
            now[SUM_OF_SIZES] += fabsf(h);
            now[REWARD] = fmaxf(now[REWARD] + before * h, 0.0f);
            now[SUM] += h;
            theta[i] += eta * (bet_of(now, rule->mu) - before);
            for (unsigned j = 0; j < N_STATE; j++) s[j][i] = now[j];
        }
        k->copy_f32(u->out + at, theta, length);
        for (unsigned i = 0; i < N_STATE; i++) k->copy_f32(u->state_out[i] + at, s[i], length);
    }
}

const drove_rule_ops drove__rule_cocob = {
    .name = "cocob",
    .help = "coin betting: no step size to choose (--lr 1 is the paper's)",
    .source = "Orabona, Tommasi, NIPS 2017, Algorithm 2",
    .n_state = N_STATE,
    .zero_is_noop = true,
    .keys = keys,
    .apply = apply,
};
