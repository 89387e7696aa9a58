/* study/runner.c - see runner.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf, wait4 */
#endif
#include "study/runner.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "files/folder.h"
#include "values/progress.h"

#include <drove/options.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SUMMARY = 64 << 20 };

static const uint64_t GRACE_NS = 5000000000; /* to end in order, once told */
static const struct timespec moment = {.tv_nsec = 5000000};

/* ---- commands ---- */

/* Takes the word. */
static void add_word(drove_command *c, char *word)
{
    if (c->n + 1 >= c->n_most) { /* room for it and for NULL */
        const size_t n_most = 2 * c->n_most + 16;
        char **all = realloc(c->word, n_most * sizeof *all);
        c->is_cut |= all == NULL;
        if (all != NULL) {
            c->word = all;
            c->n_most = n_most;
        }
    }
    c->is_cut |= word == NULL;
    if (c->is_cut) {
        free(word);
        return;
    }
    c->word[c->n++] = word;
    c->word[c->n] = NULL;
}

void drove__command_add(drove_command *c, const char *word)
{
    add_word(c, strdup(word));
}

void drove__command_set(drove_command *c, const char *option, const char *value)
{
    char flag[DROVE_FLAG_SIZE], *word;
    if (asprintf(&word, "%s=%s", drove_flag_text(option, flag), value) < 0) word = NULL;
    add_word(c, word);
}

drove_status drove__command_folder(drove_command *c, const char *folder)
{
    if (mkdir(folder, 0777) != 0) {
        if (errno != EEXIST)
            return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be created",
                                     folder);
        DROVE_TRY(drove__folder_refuse_link("the study's folder", AT_FDCWD, folder));
    }
    drove__folder_keep_name(folder);
    snprintf(c->out, sizeof c->out, "%s/out.json", folder);
    snprintf(c->err, sizeof c->err, "%s/err.txt", folder);
    /* What an earlier try has left, or somebody else: links would lead out of the folder. */
    static const char *const files[] = {"out.json", "err.txt", "log.jsonl"};
    for (size_t i = 0; i < DROVE_COUNT(files); i++) {
        char *path = drove__path_join(folder, files[i]);
        if (path == NULL) return drove__fail_nomem("a path", strlen(folder));
        const bool is_there = unlink(path) != 0 && errno != ENOENT;
        const int error = errno;
        const drove_status status =
            is_there ? drove__fail_errno(DROVE_E_IO, error, "%s: cannot be removed", path)
                     : DROVE_OK;
        free(path);
        DROVE_TRY(status);
    }
    return DROVE_OK;
}

void drove__command_fini(drove_command *c)
{
    drove__texts_free(c->word, c->n);
    *c = (drove_command){0};
}

/* ---- one child ---- */

typedef struct running {
    size_t job;
    pid_t id;
    uint64_t begin_ns, limit_ns; /* limit: 0 = none */
    uint64_t kill_ns;            /* 0: it has not been told to end */
    drove_child end;             /* whole once it has ended */
} running;

/* In the child, between fork and exec: calls that are async-signal-safe only. */
static _Noreturn void become(char *const argv[], const int fd[3], pid_t parent)
{
    static const int defaulted[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD};
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127); /* it ended before the line above */
    (void)setpgid(0, 0);
    for (size_t i = 0; i < DROVE_COUNT(defaulted); i++) (void)signal(defaulted[i], SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 0; i < 3; i++)
        if (dup2(fd[i], i) < 0) _exit(127);
    (void)execv(argv[0], argv);
    _exit(127);
}

static drove_status start(const drove_command *c, running *r)
{
    const char *path[3] = {"/dev/null", c->out, c->err};
    int fd[3] = {-1, -1, -1};
    const pid_t parent = getpid();
    drove_status status = DROVE_OK;
    *r = (running){.begin_ns = drove__now_ns(), .limit_ns = (uint64_t)(c->limit_s * 1e9)};
    if (c->is_cut) return drove__fail_nomem("arguments", c->n_most * sizeof *c->word);
    for (int i = 0; i < 3; i++) {
        const int flags = i == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW;
        fd[i] = open(path[i], O_CLOEXEC | flags, 0666);
        if (fd[i] >= 0) continue;
        status = drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be %s", path[i],
                                   i == 0 ? "opened" : "created");
        goto fail;
    }
    r->id = fork();
    if (r->id == 0) become(c->word, fd, parent);
    if (r->id < 0) status = drove__fail_errno(DROVE_E_SYSTEM, errno, "cannot start a process");

fail: /* the child has copies */
    for (int i = 0; i < 3; i++)
        if (fd[i] >= 0) close(fd[i]);
    return status;
}

/* Where SIGCHLD is ignored, statuses of children are lost.  Returns its handling, to be given
 * back. */
static struct sigaction keep_statuses(void)
{
    struct sigaction kept;
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    (void)sigaction(SIGCHLD, &usual, &kept);
    return kept;
}

static void give_back(const struct sigaction *kept)
{
    (void)sigaction(SIGCHLD, kept, NULL);
}

static void stop(running *r)
{
    if (r->kill_ns != 0) return;
    r->kill_ns = drove__now_ns() + GRACE_NS;
    (void)kill(r->id, SIGTERM);
}

/* A child past its limit is told to end, and killed if it does not. */
static bool has_ended(running *r)
{
    int how = 0;
    struct rusage usage;
    pid_t id;
    do id = wait4(r->id, &how, WNOHANG, &usage);
    while (id < 0 && errno == EINTR);
    if (id == 0) {
        const uint64_t now = drove__now_ns();
        if (r->kill_ns != 0 && now >= r->kill_ns) (void)kill(r->id, SIGKILL);
        if (r->kill_ns == 0 && r->limit_ns != 0 && now - r->begin_ns >= r->limit_ns) {
            r->end.timed_out = true;
            stop(r);
        }
        return false;
    }
    r->end.seconds = (double)(drove__now_ns() - r->begin_ns) * 1e-9;
    r->end.is_lost = id < 0;
    r->end.status = id < 0 ? -1 : 0;
    if (id < 0) return true;
    r->end.signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    r->end.status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    r->end.peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
    return true;
}

drove_status drove__command_run(const drove_command *c, uint64_t interrupts, drove_child *out)
{
    running r;
    const struct sigaction kept = keep_statuses();
    const drove_status status = start(c, &r);
    while (status == DROVE_OK && !has_ended(&r)) {
        if (drove__run_signal_since(interrupts) != 0) stop(&r);
        nanosleep(&moment, NULL);
    }
    give_back(&kept);
    if (status == DROVE_OK) *out = r.end;
    return status;
}

/* ---- what it left ---- */

drove_status drove__child_summary(const char *path, json_t **out)
{
    char *text = NULL;
    size_t n;
    json_error_t error;
    *out = NULL;
    drove_status status = drove__file_load(path, MOST_SUMMARY, &text, &n);
    if (status == DROVE_OK) status = drove__json_parse(text, n, 0, &error, out);
    free(text);
    if (status == DROVE_E_NOMEM) return drove__fail_in(status, "%s", path);
    if (json_is_string(json_object_get(*out, "outcome"))) return DROVE_OK;
    json_decref(*out);
    *out = NULL;
    return DROVE_OK;
}

void drove__child_message(const char *path, char *into, size_t size)
{
    char end[1024]; /* not drove__file_load: it may be memory that ran out */
    into[0] = '\0';
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const off_t n_bytes = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    const off_t from = n_bytes > (off_t)sizeof end - 1 ? n_bytes - (off_t)sizeof end + 1 : 0;
    ssize_t n = n_bytes > 0 ? pread(fd, end, sizeof end - 1, from) : 0;
    if (fd >= 0) close(fd);
    while (n > 0 && end[n - 1] == '\n') n--;
    if (n <= 0) return;
    end[n] = '\0';
    const char *last = strrchr(end, '\n');
    last = last != NULL ? last + 1 : end;
    if (strncmp(last, "drove: ", 7) == 0) last += 7;
    snprintf(into, size, "%s", last);
}

/* ---- many ---- */

/* Fills all[n_most], of which *n run; *is_over: there are no more jobs. */
static drove_status begin_more(const drove_runner *r, running *all, size_t n_most, size_t *n,
                               bool *is_over)
{
    while (!*is_over && *n < n_most) {
        drove_command command = {0};
        size_t job = 0;
        bool is_begun = false;
        drove_status status = r->begin(r->context, &command, &job, &is_begun);
        if (status == DROVE_OK && is_begun) status = start(&command, &all[*n]);
        drove__command_fini(&command);
        DROVE_TRY(status);
        *is_over = !is_begun;
        if (is_begun) all[(*n)++].job = job;
    }
    return DROVE_OK;
}

drove_status drove__runner_run(const drove_runner *r)
{
    size_t n = 0;
    bool is_over = false;
    const size_t n_most = r->n_at_once > 0 ? r->n_at_once : 1;
    running *all = drove__alloc(n_most, sizeof *all);
    if (all == NULL) return drove__fail_nomem("processes", n_most * sizeof *all);
    const struct sigaction kept = keep_statuses();
    drove_status status = begin_more(r, all, n_most, &n, &is_over);
    while (status == DROVE_OK && n > 0 && drove__run_signal_since(r->interrupts) == 0) {
        nanosleep(&moment, NULL);
        if (r->watch != NULL) r->watch(r->context);
        for (size_t k = 0; k < n && status == DROVE_OK;) {
            if (!has_ended(&all[k])) {
                k++;
                continue;
            }
            const running ended = all[k];
            all[k] = all[--n];
            status = r->ended(r->context, ended.job, &ended.end);
        }
        if (status == DROVE_OK && drove__run_signal_since(r->interrupts) == 0)
            status = begin_more(r, all, n_most, &n, &is_over);
    }

    for (size_t i = 0; i < n; i++) stop(&all[i]);
    for (size_t i = 0; i < n; i++)
        while (!has_ended(&all[i])) nanosleep(&moment, NULL);
    give_back(&kept);
    drove__free(all);
    return status;
}
