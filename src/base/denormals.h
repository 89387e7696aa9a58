/* base/denormals.h - floating-point numbers below the normal range (float: 1.18e-38) count as zero.
 *
 * Processors take up to a hundred cycles for an operation on a denormal number, and weight decay
 * brings weights without a gradient into that range.  Switched per thread, by bits of its control
 * register: MXCSR.FTZ and DAZ (x86-64), FPCR.FZ (aarch64); elsewhere nothing changes.  The same
 * switch turns off traps of floating-point exceptions (feenableexcept), which a program may have
 * on: a comparison with NaN, or a lane that nobody uses, is no error here.
 *
 * Every thread that computes on parameters flushes (drovek_thread_init does it), and so does the
 * caller's thread while it controls a run: the bits do not depend on which thread computes.
 */
#ifndef DROVE_BASE_DENORMALS_H
#define DROVE_BASE_DENORMALS_H

#include <stdint.h>

/* Flushes in the calling thread from now on.  Returns what drove__denormals_restore needs. */
uint64_t drove__denormals_flush(void);
/* Puts the switches of the calling thread back; rounding and exception flags stay as they are. */
void drove__denormals_restore(uint64_t before);

#endif
