/* base/cpu.c - processor features by CPUID and XGETBV, or on AArch64 by the kernel's auxiliary
 * vector.  A feature counts only if the operating system also saves its registers. */
#include "base/cpu.h"

#include <pthread.h>
#include <string.h>

static pthread_once_t detect_once = PTHREAD_ONCE_INIT;
static uint32_t features;           /* written under detect_once, then read-only */
static char model[64] = "unknown";  /* likewise                                   */
static char vendor[16] = "unknown"; /* likewise                                  */

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {                         /* bits of XCR0 */
       SAVES_YMM = 0x06,       /* SSE, AVX */
       SAVES_ZMM = 0xe6,       /* and opmask, ZMM 0-15, ZMM 16-31 */
       SAVES_TILES = 3u << 17, /* tile configuration, tile data */
       TILE_DATA = 18          /* the last one's number */
};
enum { HAS_AVX_VNNI = 1u << 4 };                   /* CPUID 7.1, EAX */
enum { HAS_AMX = 1u << 22 | 1u << 24 | 1u << 25 }; /* CPUID 7.0, EDX: bf16, tiles, int8 */
enum { REQ_XCOMP_PERM = 0x1023 };                  /* arch_prctl: Linux 5.16 and later */

static int has(unsigned reg, unsigned bits)
{
    return (reg & bits) == bits;
}

static void detect_features(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, bit_OSXSAVE | bit_AVX)) return;
    int fma_f16c = has(c, bit_FMA | bit_F16C);
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    const uint64_t saved = (uint64_t)high << 32 | low;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    if (!fma_f16c || !has(b, bit_AVX2) || (saved & SAVES_YMM) != SAVES_YMM) return;
    features |= DROVE_CPU_AVX2;
    unsigned more, unused;
    if (!__get_cpuid_count(7, 1, &more, &unused, &unused, &unused)) more = 0;
    if (has(more, HAS_AVX_VNNI)) features |= DROVE_CPU_AVX_VNNI;
    if (!has(b, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL)) return;
    if ((saved & SAVES_ZMM) != SAVES_ZMM) return;
    features |= DROVE_CPU_AVX512;
    if (has(c, bit_AVX512VNNI)) features |= DROVE_CPU_VNNI;
    /* Linux saves the tile registers, 8 KiB, only for processes that ask.  It refuses one of whose
     * threads has a signal stack too small for them, and then we do without. */
    if (has(d, HAS_AMX) && (saved & SAVES_TILES) == SAVES_TILES &&
        syscall(SYS_arch_prctl, REQ_XCOMP_PERM, TILE_DATA) == 0)
        features |= DROVE_CPU_AMX;
    if (has(more, bit_AVX512BF16)) features |= DROVE_CPU_BF16;
}

static void detect_vendor(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(0, &a, &b, &c, &d)) return;
    const unsigned name[3] = {b, d, c};
    memcpy(vendor, name, sizeof name);
    vendor[sizeof name] = '\0';
}

/* The 48-character brand string, without leading and trailing blanks. */
static void detect_model(void)
{
    unsigned brand[13] = {0};
    for (unsigned i = 0; i < 3; i++) {
        unsigned *part = brand + 4 * i;
        if (!__get_cpuid(0x80000002u + i, part, part + 1, part + 2, part + 3)) return;
    }
    const char *start = (const char *)brand;
    start += strspn(start, " ");
    size_t length = strlen(start);
    while (length > 0 && start[length - 1] == ' ') length--;
    if (length == 0) return;
    memcpy(model, start, length);
    model[length] = '\0';
}

#else

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

static void detect_features(void)
{
#if defined(__aarch64__)
    features |= DROVE_CPU_NEON; /* part of the base architecture */
    if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) features |= DROVE_CPU_DOTPROD;
#endif
}

static void detect_vendor(void)
{
}

static void detect_model(void)
{
}

#endif

static void detect(void)
{
    detect_features();
    detect_vendor();
    detect_model();
}

uint32_t drove__cpu_features(void)
{
    pthread_once(&detect_once, detect);
    return features;
}

const char *drove__cpu_vendor(void)
{
    pthread_once(&detect_once, detect);
    return vendor;
}

const char *drove__cpu_model(void)
{
    pthread_once(&detect_once, detect);
    return model;
}
