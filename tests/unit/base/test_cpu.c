/* CPU features against what the kernel reads from the same processor (/proc/cpuinfo). */
#include "support.h"

#include "base/clock.h"
#include "base/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

/* The value of the first line that begins with key, or NULL. */
static const char *cpuinfo(const char *key, char *line, size_t size_bytes)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL) return NULL;
    const char *value = NULL;
    while (value == NULL && fgets(line, (int)size_bytes, file) != NULL) {
        char *colon = strchr(line, ':');
        if (colon == NULL || strncmp(line, key, strlen(key)) != 0) continue;
        line[strcspn(line, "\n")] = '\0';
        value = colon[1] == ' ' ? colon + 2 : colon + 1;
    }
    fclose(file);
    return value;
}

#if defined(__aarch64__)
/* /proc/cpuinfo is that of another processor where this runs under an emulator. */
TEST(test_features)
{
    uint32_t may_have = DROVE_CPU_NEON | DROVE_CPU_DOTPROD;
    assert_int_equal(drove__cpu_features() & ~may_have, 0);
    assert_true((drove__cpu_features() & DROVE_CPU_NEON) != 0);
    assert_int_equal((drove__cpu_features() & DROVE_CPU_DOTPROD) != 0,
                     (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0);
}
#else
static int has_all(const char *flags, const char *const *words)
{
    for (; *words != NULL; words++) {
        const char *at = strstr(flags, *words);
        if (at == NULL) return 0;
    }
    return 1;
}

TEST(test_features)
{
    static const char *const avx2[] = {" avx2 ", " fma ", " f16c ", NULL};
    static const char *const avx_vnni[] = {" avx_vnni ", NULL}; /* Linux 5.12 and later */
    static const char *const avx512[] = {" avx512f ", " avx512bw ", " avx512dq ", " avx512vl ",
                                         NULL};
    static const char *const vnni[] = {" avx512_vnni ", NULL};
    static const char *const bf16[] = {" avx512_bf16 ", NULL};
    static const char *const amx[] = {" amx_tile ", " amx_bf16 ", " amx_int8 ", NULL};
    char line[16384], flags[16386];
    const char *value = cpuinfo("flags", line, sizeof line);
    if (value == NULL) {
        print_message("no flags in /proc/cpuinfo: skipped\n");
        skip();
    }
    snprintf(flags, sizeof flags, " %.16000s ", value);
    uint32_t expected = 0;
    if (has_all(flags, avx2)) expected |= DROVE_CPU_AVX2;
    if (expected != 0 && has_all(flags, avx_vnni)) expected |= DROVE_CPU_AVX_VNNI;
    if (expected != 0 && has_all(flags, avx512)) expected |= DROVE_CPU_AVX512;
    if ((expected & DROVE_CPU_AVX512) != 0 && has_all(flags, vnni)) expected |= DROVE_CPU_VNNI;
    if ((expected & DROVE_CPU_AVX512) != 0 && has_all(flags, bf16)) expected |= DROVE_CPU_BF16;
    if ((expected & DROVE_CPU_AVX512) != 0 && has_all(flags, amx)) expected |= DROVE_CPU_AMX;
    uint32_t found = drove__cpu_features();
    assert_int_equal(found | (expected & DROVE_CPU_AMX), expected); /* Linux may refuse the tiles */
    assert_int_equal(drove__cpu_features(), found);
}
#endif

TEST(test_model)
{
    char line[16384];
    const char *value = cpuinfo("model name", line, sizeof line);
    assert_true(strlen(drove__cpu_model()) > 0);
    if (value == NULL || strcmp(drove__cpu_model(), "unknown") == 0) skip();
    assert_non_null(strstr(value, drove__cpu_model()));
}

TEST(test_vendor)
{
    char line[16384];
    const char *value = cpuinfo("vendor_id", line, sizeof line);
    assert_true(strlen(drove__cpu_vendor()) > 0);
    if (value == NULL || strcmp(drove__cpu_vendor(), "unknown") == 0) skip();
    assert_string_equal(value, drove__cpu_vendor());
}

TEST(test_clock)
{
    uint64_t before = drove__now_ns(), after = drove__now_ns();
    for (int i = 0; i < 1000; i++) {
        assert_true(after >= before);
        before = after;
        after = drove__now_ns();
    }
    struct timespec pause = {0, 2000000};
    before = drove__now_ns();
    nanosleep(&pause, NULL);
    after = drove__now_ns();
    assert_true(after - before >= 2000000 && after - before < 5000000000u);
}
