/* base/denormals.c - see denormals.h. */
#include "base/denormals.h"

#if defined(__x86_64__)
/* flush to zero; denormals are zeros; the masks of all six exceptions */
static const uint64_t SWITCHES = 1u << 15 | 1u << 6 | 0x1f80, ON = 1u << 15 | 1u << 6 | 0x1f80;

static uint64_t read_control(void)
{
    return __builtin_ia32_stmxcsr();
}

static void write_control(uint64_t control)
{
    __builtin_ia32_ldmxcsr((unsigned)control);
}
#elif defined(__aarch64__)
/* flush to zero, operands and results; the traps of all six exceptions, off */
static const uint64_t SWITCHES = 1u << 24 | 0x9f00, ON = 1u << 24;

static uint64_t read_control(void)
{
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

static void write_control(uint64_t control)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
}
#else
static const uint64_t SWITCHES = 0, ON = 0;

static uint64_t read_control(void)
{
    return 0;
}

static void write_control(uint64_t control)
{
    (void)control;
}
#endif

uint64_t drove__denormals_flush(void)
{
    uint64_t before = read_control();
    write_control((before & ~SWITCHES) | ON);
    return before & SWITCHES;
}

void drove__denormals_restore(uint64_t before)
{
    write_control((read_control() & ~SWITCHES) | before);
}
