#include "operands.h"
#include "support/test.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit statuses of a child. */
enum { UNSEEN = 10, SEEN = 11, ELSEWHERE = 12 };

/* The run in progress. */
static struct {
    const char *kernel, *isa;
    size_t n;
    place where;
    size_t n_operands; /* so far */
    size_t planted;    /* the operand, from 1, that is an element short; 0: none */
    char *page;        /* the forbidden one that it reaches into */
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
    run(t, n);
    guarded_free_all();
}

static const char *side(void)
{
    return now.where == PLACE_END ? "end" : "start";
}

/* Of a child: whether it was the planted access; of the test: says which kernel it is. */
static void exit_by_address(int signal, siginfo_t *info, void *context)
{
    const char *at = info->si_addr;
    const bool is_seen =
        now.page != NULL && at >= now.page && at < now.page + sysconf(_SC_PAGESIZE);
    (void)signal, (void)context;
    if (now.planted > 0) _exit(is_seen ? SEEN : ELSEWHERE);
    print_error("%s (%s), n %zu: expected no access beyond an operand, found one at its %s\n",
                now.kernel, now.isa, now.n, side());
    _exit(1);
}

/* ---- planted accesses ---- */

static int run_planted(const drovek_table *t, operand_case *run, size_t planted)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        now.planted = planted;
        run_at(t, run, now.n, now.where);
        _exit(UNSEEN);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* One operand after the other, an element short at the side of the last run. */
static void check_planted(const drovek_table *t, operand_case *run)
{
    for (size_t i = 1; i <= now.n_operands; i++) {
        const int status = run_planted(t, run, i);
        n_planted++;
        if (status == SEEN) continue;
        print_error("%s (%s), n %zu: operand %zu is an element short at its %s: expected an access "
                    "to the forbidden page, found %s\n",
                    now.kernel, now.isa, now.n, i, side(),
                    status == UNSEEN      ? "none"
                    : status == ELSEWHERE ? "one elsewhere"
                                          : "another end of the process");
        fail();
    }
}

void check_operands(const drovek_table *t, const char *kernel, operand_case *run, size_t first,
                    size_t most)
{
    const struct sigaction action = {.sa_sigaction = exit_by_address, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    assert_true(first <= PLANTED_LENGTH && PLANTED_LENGTH <= most);
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
    print_message("%s: %zu planted accesses seen\n", t->isa, n_planted);
    assert_true(n_planted > 0);
    n_planted = 0;
}
