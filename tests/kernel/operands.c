#include "operands.h"
#include "support/test.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The run in progress. */
static struct {
    const char *kernel, *isa;
    size_t n;
    place where;
    size_t n_operands; /* so far */
    size_t planted;    /* the operand, from 1, that is an element short; 0: none */
    char *page;        /* the forbidden one that it reaches into */
    bool is_seen;      /* that page was met */
    sigjmp_buf after;  /* from where the test goes on then */
} now;
static size_t n_planted;

void *operand_with_slack(const void *from, size_t n, size_t element_bytes, size_t slack_bytes)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const bool is_planted = n > 0 && ++now.n_operands == now.planted;
    const bool at_start = now.where == PLACE_START;
    const size_t there = is_planted ? n - 1 : n; /* elements with memory of their own */
    const size_t slack = is_planted ? 0 : slack_bytes;
    char *memory = guarded(there * element_bytes + slack, element_bytes, now.where), *to = memory;
    if (is_planted) now.page = at_start ? memory - page_bytes : memory + there * element_bytes;
    if (is_planted && at_start) to -= element_bytes;
    const char *first =
        is_planted && at_start && from != NULL ? (const char *)from + element_bytes : from;
    if (from != NULL) memcpy(memory, first, there * element_bytes);
    else memset(memory, 1, there * element_bytes);
    return to;
}

void *operand(const void *from, size_t n, size_t element_bytes)
{
    return operand_with_slack(from, n, element_bytes, 0);
}

float *float_operand(size_t n)
{
    enum { MOST = 1 << 16 };
    static float numbers[MOST];
    assert_true(n <= MOST);
    for (size_t i = 0; i < MOST && numbers[0] == 0.0f; i++)
        numbers[MOST - 1 - i] = (float)(i % 7 + 1) * 0x1p-3f;
    return operand(numbers, n, sizeof *numbers);
}

static void run_at(const drovek_table *t, operand_case *run, size_t n, place where)
{
    now.n = n;
    now.where = where;
    now.n_operands = 0;
    now.page = NULL;
    guarded_free_all();
    run(t, n);
}

static const char *side(void)
{
    return now.where == PLACE_END ? "end" : "start";
}

/* A planted access ends its run; another one ends the test, and says which kernel it is. */
static void at_fault(int signal, siginfo_t *info, void *context)
{
    const char *at = info->si_addr;
    (void)signal, (void)context;
    now.is_seen = now.page != NULL && at >= now.page && at < now.page + sysconf(_SC_PAGESIZE);
    if (now.is_seen) siglongjmp(now.after, 1);
    char planted[48] = "";
    if (now.planted > 0) snprintf(planted, sizeof planted, ", planted operand %zu", now.planted);
    print_error("%s (%s), n %zu%s: expected no access beyond the %s of %s operand, found one\n",
                now.kernel, now.isa, now.n, planted, side(), now.planted > 0 ? "another" : "an");
    _exit(1);
}

/* Every operand in turn is an element short at the side of the last run. */
static void check_planted(const drovek_table *t, operand_case *run)
{
    const size_t n_operands = now.n_operands;
    for (now.planted = 1; now.planted <= n_operands; now.planted++, n_planted++) {
        now.is_seen = false;
        if (sigsetjmp(now.after, 0) == 0) run_at(t, run, now.n, now.where);
        if (now.is_seen) continue;
        print_error("%s (%s), n %zu: operand %zu is an element short at its %s: expected an access "
                    "to the forbidden page, found none\n",
                    now.kernel, now.isa, now.n, now.planted, side());
        fail();
    }
    now.planted = 0;
    guarded_free_all();
}

void check_operands(const drovek_table *t, const char *kernel, operand_case *run, size_t first,
                    size_t most)
{
    const struct sigaction action = {.sa_sigaction = at_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sigaction before;
    assert_true(first <= PLANTED_LENGTH && PLANTED_LENGTH <= most);
    now.planted = 0;
    now.kernel = kernel;
    now.isa = t->isa;
    sigaction(SIGSEGV, &action, &before);
    for (size_t n = first; n <= most; n++) {
        for (place where = PLACE_END; where <= PLACE_START; where++) {
            run_at(t, run, n, where);
            if (n == PLANTED_LENGTH) check_planted(t, run);
        }
    }
    sigaction(SIGSEGV, &before, NULL);
}

void report_planted(const drovek_table *t)
{
    if (n_planted == 0) print_message("%s: no kernels of its own\n", t->isa);
    else print_message("%s: %zu planted accesses seen\n", t->isa, n_planted);
    n_planted = 0;
}
