/* base/cpu.h - processor features that the operating system supports too. */
#ifndef DROVE_BASE_CPU_H
#define DROVE_BASE_CPU_H

#include <stdint.h>

enum {
    DROVE_CPU_AVX2 = 1u << 0,   /* AVX2 and FMA and F16C                                 */
    DROVE_CPU_AVX512 = 1u << 1, /* F, BW, DQ, VL; implies the operating system saves ZMM */
    DROVE_CPU_VNNI = 1u << 2,   /* AVX512_VNNI                                           */
    DROVE_CPU_NEON = 1u << 3,
    DROVE_CPU_DOTPROD = 1u << 4, /* SDOT and UDOT of ARMv8.2; implies NEON                */
    DROVE_CPU_BF16 = 1u << 5,    /* AVX512_BF16                                           */
    DROVE_CPU_AMX = 1u << 6,     /* AMX_TILE, AMX_BF16, AMX_INT8; the system lets us use them */
    DROVE_CPU_AVX_VNNI = 1u << 7 /* the instructions of AVX512_VNNI in registers of AVX2  */
};

uint32_t    drove__cpu_features(void); /* detected once, thread-safe                      */
const char *drove__cpu_vendor(void);   /* "GenuineIntel", "AuthenticAMD"; "unknown"       */
const char *drove__cpu_model(void);    /* "AMD EPYC" ...; "unknown" if not available    */

#endif
