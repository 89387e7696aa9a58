/* study/child.c - see child.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "study/child.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t GRACE_NS = 5000000000; /* to end in order, once told */

/* In the child, between fork and exec: calls that are async-signal-safe only. */
static _Noreturn void become(char *const argv[], int in, int out, int err, pid_t parent)
{
    static const int defaulted[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127); /* it ended before the line above */
    (void)setpgid(0, 0);
    for (size_t i = 0; i < sizeof defaulted / sizeof defaulted[0]; i++)
        (void)signal(defaulted[i], SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(127);
    (void)execv(argv[0], argv);
    _exit(127);
}

static drove_status create(const char *path, int *fd)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (*fd >= 0) return DROVE_OK;
    return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be created", path);
}

drove_status drove__child_start(drove_child *c, char *const argv[], const char *out_path,
                                const char *err_path, double limit_s)
{
    int fd[3] = {-1, -1, -1};
    pid_t parent = getpid();
    *c = (drove_child){.begin_ns = drove__now_ns(), .limit_ns = (uint64_t)(limit_s * 1e9)};
    drove_status status = create(out_path, &fd[1]);
    if (status != DROVE_OK) goto fail;
    if ((status = create(err_path, &fd[2])) != DROVE_OK) goto fail;
    if ((fd[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0) {
        status = drove__fail_errno(DROVE_E_SYSTEM, errno, "/dev/null: cannot be opened");
        goto fail;
    }
    c->id = fork();
    if (c->id == 0) become(argv, fd[0], fd[1], fd[2], parent);
    if (c->id < 0) status = drove__fail_errno(DROVE_E_SYSTEM, errno, "cannot start a process");

fail: /* the child has copies */
    for (int i = 0; i < 3; i++)
        if (fd[i] >= 0) close(fd[i]);
    return status;
}

void drove__child_stop(drove_child *c)
{
    if (c->is_told) return;
    c->is_told = true;
    c->kill_ns = drove__now_ns() + GRACE_NS;
    (void)kill(c->id, SIGTERM);
}

bool drove__child_has_ended(drove_child *c)
{
    int how = 0;
    struct rusage usage;
    pid_t id;
    do id = wait4(c->id, &how, WNOHANG, &usage);
    while (id < 0 && errno == EINTR);
    if (id == 0) {
        const uint64_t now = drove__now_ns();
        if (c->is_told && now >= c->kill_ns) (void)kill(c->id, SIGKILL);
        if (!c->is_told && c->limit_ns != 0 && now - c->begin_ns >= c->limit_ns) {
            c->timed_out = true;
            drove__child_stop(c);
        }
        return false;
    }
    c->seconds = (double)(drove__now_ns() - c->begin_ns) * 1e-9;
    c->status = 127; /* nobody's child: somebody else has waited for it */
    if (id < 0) return true;
    c->signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    c->status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    c->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
    return true;
}
