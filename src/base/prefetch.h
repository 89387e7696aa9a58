/* base/prefetch.h - switches the hardware prefetchers of Intel processors off and on again.
 *
 * Source: De Sa et al., ISCA 2017, section 5.3: with a small model that several cores write,
 * training is faster with the prefetchers off.  Bits 0 to 3 of the model-specific register 0x1A4
 * switch off, in this order, the second-level cache's streamer and adjacent-line prefetchers and
 * the first-level cache's next-line and stride prefetchers (1 = off); the other bits are left
 * alone.  The kernel shows the register of logical processor N as 8 bytes at offset 0x1A4 of
 * /dev/cpu/N/msr.
 *
 * The registers outlive the process, so they are restored when the last holder releases them, at
 * exit, and by a signal handler before a fatal or terminating signal takes effect (SIGKILL cannot
 * be caught).  The signal then goes to the previous handler, or to its default.  Only one process
 * at a time may change them: hyper-threads of a core share prefetchers, and two processes would
 * save each other's values.
 *
 * Threads: any, at any time.
 */
#ifndef DROVE_BASE_PREFETCH_H
#define DROVE_BASE_PREFETCH_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum drove_prefetch_state {
    DROVE_PREFETCH_UNKNOWN, /* cannot be read, or they differ                  */
    DROVE_PREFETCH_ON,      /* all four prefetchers of all processors are on   */
    DROVE_PREFETCH_OFF      /* all four of all of them are off                 */
} drove_prefetch_state;

typedef struct drove_prefetch_machine {
    const char *folder; /* FOLDER/N/msr is the device of processor N                         */
    const char *vendor; /* of the processors, as CPUID spells it: "GenuineIntel"             */
} drove_prefetch_machine;

/* /dev/cpu and this processor's vendor; if the environment has DROVE_TEST_MSR_FOLDER, that folder,
 * whose files then count as Intel's (tests: CONTRIBUTING.md). */
drove_prefetch_machine drove__prefetch_machine(void);

/* "on", "off" or "unknown". */
const char *drove__prefetch_state_name(drove_prefetch_state state);

/* State of processors pu[n_pus] now; only reads. */
drove_prefetch_state drove__prefetch_look(const drove_prefetch_machine *machine, const int *pu,
                                          size_t n_pus);

/* Switches the prefetchers of processors pu[n_pus] off (operating system's numbers, repeats
 * allowed); pair it with drove__prefetch_release.  There may be several holders.  On failure
 * nothing is changed.  Errors: DROVE_E_UNSUPPORTED (the text names the processor and the reason);
 * DROVE_E_SYSTEM (the same, and a register could not be put back). */
drove_status drove__prefetch_hold_off(const drove_prefetch_machine *machine, const int *pu,
                                      size_t n_pus);

/* The last holder's release puts every register back.  *was_cut (may be NULL): a signal had already
 * put them back.  Errors: DROVE_E_SYSTEM (the text names the processor and the value that it should
 * have). */
drove_status drove__prefetch_release(bool *was_cut);

#endif
