/* base/relax.h - a short pause in a loop that spins on another thread. */
#ifndef DROVE_BASE_RELAX_H
#define DROVE_BASE_RELAX_H

static inline void drove__relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
