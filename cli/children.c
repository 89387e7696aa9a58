/* cli/children.c - what commands share whose runs are processes of this program. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cli.h"
#include "progress.h"

#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static void on_signal(int signal_number)
{
    static volatile sig_atomic_t n_signals;
    if (++n_signals > 1) {
        cli_progress_clear_by_signal();
        _exit(128 + signal_number);
    }
    drove_train_interrupt(signal_number);
}

void cli_children_catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Also where /proc is hidden: then by the name that exec was given. */
bool cli_children_find_program(char into[PATH_MAX])
{
    if (realpath("/proc/self/exe", into) != NULL) return true;
    const char *name = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    return name != NULL && realpath(name, into) != NULL;
}
