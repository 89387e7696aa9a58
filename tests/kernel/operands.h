/* tests/kernel/operands.h - no kernel accesses memory beyond its operands, and the tests see it.
 *
 * A case calls kernels with operands from `operand`, each of which ends at a forbidden page, or
 * begins behind one.  check_operands runs it for every length, and then with one operand at a time
 * an element short: the kernel must meet the forbidden page at its side.  That ends the call where
 * it is, which kernels, without locks or state, allow.  No value is compared: the tests of each
 * kernel do that.
 */
#ifndef DROVE_TESTS_KERNEL_OPERANDS_H
#define DROVE_TESTS_KERNEL_OPERANDS_H

#include "support.h"

/* Lengths 0 .. MOST_LENGTH: every rest of two of the longest steps, 128 numbers of 4 bits. */
enum { MOST_LENGTH = 257 };

/* Calls kernels of t with operands of length n. */
typedef void operand_case(const drovek_table *t, size_t n);

/* Lengths first .. most; most at least PLANTED_LENGTH. */
enum { PLANTED_LENGTH = 67 };
void check_operands(const drovek_table *t, const char *kernel, operand_case *run, size_t first,
                    size_t most);

/* n elements of element_bytes, copied from `from` (NULL: each byte 1). */
void *operand(const void *from, size_t n, size_t element_bytes);

/* The same with slack_bytes behind it that may be read: what the kernel's header promises. */
void *operand_with_slack(const void *from, size_t n, size_t element_bytes, size_t slack_bytes);

/* n positive numbers, which are small integers times 2^-3. */
float *float_operand(size_t n);

/* Prints how many accesses were planted since the last time: for the kernels that a tier does not
 * have in common with the one before. */
void report_planted(const drovek_table *t);

#endif
