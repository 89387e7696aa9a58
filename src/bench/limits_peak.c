/* bench/limits_peak.c - the most multiply-adds a second that a core computes, by tier.
 *
 * A register's sum waits for the one before it, 4 cycles of most cores.  With 12 sums two units
 * never wait (x86: 12 of 16 registers, and two factors), with 16 four (ARM).  Compiled with
 * contraction (src/CMakeLists.txt): product and sum are one instruction where the target has it.
 * Plain C has none on x86, and no wider registers than any x86-64 has.
 */
#include "bench/limits.h"

#include <string.h>

/* The compiler takes the register to have changed. */
#if defined(__x86_64__)
enum { N_REGISTERS = 12 };
#define HIDE(x)     __asm__("" : "+v"(x))
#define PEAK_NAME   peak_avx512
#define PEAK_TARGET __attribute__((target("avx512f,fma")))
#define PEAK_LANES  16
#include "bench/limits_peak_body.h"
#define PEAK_NAME   peak_avx2
#define PEAK_TARGET __attribute__((target("avx2,fma")))
#define PEAK_LANES  8
#include "bench/limits_peak_body.h"
#elif defined(__aarch64__)
enum { N_REGISTERS = 16 };
#define HIDE(x) __asm__("" : "+w"(x))
#else
enum { N_REGISTERS = 4 };
#define HIDE(x) __asm__("" : "+m"(x))
#endif
#define PEAK_NAME peak_default
#define PEAK_TARGET
#define PEAK_LANES 4
#include "bench/limits_peak_body.h"

drove_peak drove__peak_of(const char *isa)
{
    drove_peak p = {.n_lanes = 4, .turn = peak_default};
    (void)isa;
#if defined(__x86_64__)
    if (strncmp(isa, "avx2", 4) == 0) p = (drove_peak){.n_lanes = 8, .turn = peak_avx2};
    if (strncmp(isa, "avx512", 6) == 0) p = (drove_peak){.n_lanes = 16, .turn = peak_avx512};
#endif
    p.n_flops = 2 * N_REGISTERS * p.n_lanes;
    return p;
}
