/* files/folder.c - see folder.h. */
#include "files/folder.h"

#include "base/file.h"
#include "base/json.h"
#include "files/outname.h"
#include "values/say.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what lies in a folder ---- */

typedef enum kind { FOREIGN, STATE, MODEL, RECORD, TEMPORARY } kind;

/* The files of a run.  summary.json is none of a run that ended early: what it tells is kept, but
 * for that of a run that crashed before it had a model. */
static const struct {
    const char *name;
    bool is_beginning; /* of the name */
    kind kind;
} ours[] = {
    {.name = DROVE_STATE_NAME, .kind = STATE},
    {.name = DROVE_STATE_PREVIOUS_NAME, .kind = STATE},
    {.name = "model.safetensors", .kind = MODEL},
    {.name = "best.safetensors", .kind = MODEL},
    {.name = "run.json", .kind = RECORD},
    {.name = "log.jsonl", .kind = RECORD},
    {.name = "events.out.tfevents.", .is_beginning = true, .kind = RECORD},
};

static const char temporary_mark[] = ".tmp.", earlier_mark[] = ".earlier.",
                  ending[] = "safetensors", summary_name[] = "summary.json",
                  timeline_name[] = "timeline.json", model_name[] = "model.safetensors";
enum { SUMMARY_MOST_BYTES = 64 << 20 };

/* NAME.earlier.safetensors, NAME.earlier.2.safetensors ...: models of runs that began again. */
static bool is_earlier(const char *name)
{
    const char *at = strstr(name, earlier_mark);
    if (at == NULL || at == name) return false;
    at += sizeof earlier_mark - 1;
    size_t n_digits = strspn(at, "0123456789");
    if (n_digits > 0 && at[n_digits] == '.') at += n_digits + 1;
    return strcmp(at, ending) == 0;
}

static kind kind_of(const char *name)
{
    const char *mark = strstr(name, temporary_mark);
    const size_t n = mark != NULL ? (size_t)(mark - name) : strlen(name);
    static const char *const also[] = {summary_name, timeline_name};
    for (size_t i = 0; mark != NULL && i < DROVE_COUNT(also); i++)
        if (strncmp(also[i], name, n) == 0 && also[i][n] == '\0') return TEMPORARY;
    for (size_t i = 0; i < DROVE_COUNT(ours); i++) {
        size_t n_ours = strlen(ours[i].name);
        bool is_it = strncmp(ours[i].name, name, n_ours) == 0 && n >= n_ours &&
                     (ours[i].is_beginning || n == n_ours);
        if (is_it) return mark != NULL ? TEMPORARY : ours[i].kind;
    }
    return is_earlier(name) ? RECORD : FOREIGN;
}

bool drove__folder_writes(const char *folder, const char *path)
{
    const size_t n = strlen(folder);
    const char *name = strrchr(path, '/');
    if (n == 0 || name == NULL || (size_t)(name - path) != n || strncmp(path, folder, n) != 0)
        return false;
    return kind_of(name + 1) != FOREIGN || strcmp(name + 1, summary_name) == 0;
}

typedef struct survey {
    bool has_state, has_left; /* left: by a run without a state */
    char foreign[256];        /* a file that is none of a run's; "": none */
} survey;

static drove_status fail_to_look(const char *folder, int error)
{
    return drove__fail_errno(drove__open_status(error), error, "--out: cannot read folder %s",
                             folder);
}

/* Is the run's summary that of a crash? */
static bool has_crashed(const char *folder)
{
    json_error_t error;
    json_t *summary = NULL;
    size_t n;
    char *path = drove__path_join(folder, summary_name), *text = NULL;
    if (path != NULL && drove__file_load(path, SUMMARY_MOST_BYTES, &text, &n) == DROVE_OK)
        (void)drove__json_parse(text, n, 0, &error, &summary);
    const char *outcome = json_string_value(json_object_get(summary, "outcome"));
    const bool is_crash =
        outcome != NULL && strcmp(outcome, drove_outcome_name(DROVE_CRASHED)) == 0;
    json_decref(summary);
    free(text);
    free(path);
    return is_crash;
}

drove_status drove__folder_refuse_link(const char *folder, int fd, const char *name)
{
    struct stat about;
    if (fstatat(fd, name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(about.st_mode))
        return DROVE_OK;
    return drove__fail(DROVE_E_EXISTS,
                       "%s: expected files of its own, found the symbolic link %s: drove writes to "
                       "no file outside the folder (a copy in the link's place is written)",
                       folder, name);
}

/* A path that is no folder holds nothing; a folder that cannot be read is an error: its files must
 * not be written over. */
static drove_status look(const char *folder, survey *s)
{
    bool has_summary = false, has_model = false;
    *s = (survey){0};
    DIR *dir = opendir(folder);
    if (dir == NULL && (errno == ENOENT || errno == ENOTDIR)) return DROVE_OK;
    if (dir == NULL) return fail_to_look(folder, errno);
    errno = 0;
    drove_status status = DROVE_OK;
    for (struct dirent *e; status == DROVE_OK && (e = readdir(dir)) != NULL; errno = 0) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        kind k = kind_of(e->d_name);
        const bool is_summary = strcmp(e->d_name, summary_name) == 0;
        if (k != FOREIGN || is_summary || strcmp(e->d_name, timeline_name) == 0)
            status = drove__folder_refuse_link(folder, dirfd(dir), e->d_name);
        has_summary = has_summary || is_summary;
        has_model = has_model || strcmp(e->d_name, model_name) == 0;
        if (k == FOREIGN && !is_summary) snprintf(s->foreign, sizeof s->foreign, "%s", e->d_name);
        s->has_state = s->has_state || k == STATE;
        s->has_left = s->has_left || k != FOREIGN;
    }
    const int error = errno;
    closedir(dir);
    DROVE_TRY(status);
    const bool is_kept = s->has_state || has_model || (has_summary && !has_crashed(folder));
    if (has_summary && is_kept && s->foreign[0] == '\0')
        snprintf(s->foreign, sizeof s->foreign, "%s", summary_name);
    return error == 0 ? DROVE_OK : fail_to_look(folder, error);
}

drove_status drove__folder_begin_again(const drove_config *config, drove_output *output,
                                       drove_choice *choice)
{
    survey s;
    if (config->files.resume == NULL) return DROVE_OK;
    DROVE_TRY(look(config->files.resume, &s));
    if (s.has_state || !s.has_left || s.foreign[0] != '\0') return DROVE_OK;
    /* a run that is yet to save its first state holds it */
    DROVE_TRY(drove__folder_claim("resume", config->files.resume, output));
    drove__choice_add(choice, "out", DROVE_FROM_RUN, "%s", config->files.resume);
    drove__choice_add(choice, "resume", DROVE_FROM_RUN, "none");
    return DROVE_OK;
}

drove_status drove__folder_check(const drove_config *config)
{
    const char *folder = config->files.out;
    struct stat info;
    if (folder == NULL || stat(folder, &info) != 0) return DROVE_OK;
    if (!S_ISDIR(info.st_mode))
        return drove__fail(DROVE_E_EXISTS, "--out: expected a folder, found a file: %s", folder);
    if (config->files.resume != NULL) return DROVE_OK;
    survey s;
    DROVE_TRY(look(folder, &s));
    if (s.has_state || s.foreign[0] != '\0')
        return drove__fail(DROVE_E_EXISTS,
                           "--out: expected a new or empty folder, found %s with %s in it%s",
                           folder, s.has_state ? "a run" : s.foreign,
                           s.has_state ? " (--resume goes on with it)" : "");
    return DROVE_OK;
}

/* ---- the owner ---- */

drove_status drove__folder_lock(const char *option, const char *folder, int *lock, int *error)
{
    *lock = 0;
    *error = 0;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return drove__fail_errno(drove__open_status(errno), errno, "--%s: cannot open folder %s",
                                 option, folder);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *lock = fd + 1;
        return DROVE_OK;
    }
    *error = errno;
    close(fd);
    if (*error != EWOULDBLOCK) return DROVE_OK;
    return drove__fail(DROVE_E_EXISTS,
                       "--%s: expected a folder that no run is using, found %s in use", option,
                       folder);
}

drove_status drove__folder_claim(const char *option, const char *folder, drove_output *output)
{
    int error;
    if (folder == NULL || output->out_lock != 0) return DROVE_OK;
    DROVE_TRY(drove__folder_lock(option, folder, &output->out_lock, &error));
    if (output->out_lock == 0)
        drove__run_warn(&output->cb,
                        "--%s: %s: no locks in this file system (%s): use it for one run at a time",
                        option, folder, strerror(error));
    return DROVE_OK;
}

void drove__folder_close(drove_output *output)
{
    if (output->out_lock != 0) close(output->out_lock - 1);
    output->out_lock = 0;
}

/* ---- what is left ---- */

/* model.safetensors becomes model.earlier.safetensors, or the first with a number from 2 on that
 * is free: no earlier model is written over. */
static drove_status put_aside(int folder, const char *name)
{
    char to[64];
    const int n_name = (int)strcspn(name, ".");
    snprintf(to, sizeof to, "%.*s%s%s", n_name, name, earlier_mark, ending);
    for (unsigned i = 2; faccessat(folder, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0; i++)
        snprintf(to, sizeof to, "%.*s%s%u.%s", n_name, name, earlier_mark, i, ending);
    if (renameat(folder, name, folder, to) == 0) return DROVE_OK;
    return drove__fail_errno(DROVE_E_IO, errno, "--out: %s cannot be renamed to %s", name, to);
}

drove_status drove__folder_make(const drove_config *config, drove_choice *choice)
{
    const char *folder = config->files.out;
    const bool is_own = drove__config_is_own(config, "out");
    /* A folder of --out auto is new: where another run has just made it, the next number is
     * taken. */
    while (mkdir(folder, 0777) != 0) {
        const int error = errno;
        if (error != EEXIST)
            return drove__fail_errno(
                drove__open_status(error), error, "--out: cannot make folder %s%s", folder,
                is_own ? " (--out DIR names another, --out none writes nothing)" : "");
        if (!is_own) return DROVE_OK;
        choice->n = 0;
        DROVE_TRY(drove__outname_next(config, choice));
        folder = choice->setting[0].value;
    }
    drove__folder_keep_name(folder);
    return DROVE_OK;
}

drove_status drove__folder_open(const drove_config *config, drove_output *output)
{
    const char *folder = config->files.out;
    const bool begins = config->files.resume == NULL;
    const char *option = begins ? "out" : "resume";
    if (drove__config_is_own(config, "out")) return drove__folder_claim(option, folder, output);
    DROVE_TRY(drove__folder_check(config)); /* is it a folder? */
    DROVE_TRY(drove__folder_claim(option, folder, output));
    DROVE_TRY(drove__folder_check(config)); /* another run may have used it meanwhile */
    survey s;
    DROVE_TRY(look(folder, &s));
    if (begins && s.has_left)
        drove__run_say(&output->cb, "--out: %s holds a run without a state: it begins again",
                       folder);
    /* A killed run leaves the temporary file that it was writing, and a run without a state
     * whatever it had written: its models get other names. */
    drove_status status = DROVE_OK;
    DIR *dir = opendir(folder);
    if (dir == NULL) return fail_to_look(folder, errno);
    for (struct dirent *e; status == DROVE_OK && (e = readdir(dir)) != NULL;) {
        switch (kind_of(e->d_name)) {
        case TEMPORARY: (void)unlinkat(dirfd(dir), e->d_name, 0); break;
        case RECORD:
            if (begins && !is_earlier(e->d_name)) (void)unlinkat(dirfd(dir), e->d_name, 0);
            break;
        case MODEL:
            if (begins) status = put_aside(dirfd(dir), e->d_name);
            break;
        case FOREIGN:
            if (begins && strcmp(e->d_name, summary_name) == 0) /* of a crash */
                (void)unlinkat(dirfd(dir), e->d_name, 0);
            break;
        case STATE: break;
        }
    }
    closedir(dir);
    return status;
}

void drove__folder_keep_name(const char *path)
{
    char parent[PATH_MAX];
    const size_t n = strlen(path);
    snprintf(parent, sizeof parent, "%s%s..", path, n > 0 && path[n - 1] == '/' ? "" : "/");
    if (!drove__is_folder(path)) {
        const char *slash = strrchr(path, '/');
        snprintf(parent, sizeof parent, "%.*s", slash != NULL ? (int)(slash + 1 - path) : 1,
                 slash != NULL ? path : ".");
    }
    const int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

/* ---- states ---- */

static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* A second name for the file; where the file system has no such names, the only one for a while. */
static bool name_again(const char *path, const char *again)
{
    char spare[PATH_MAX];
    int n = snprintf(spare, sizeof spare, "%s%s%ld", again, temporary_mark, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof spare) return false;
    (void)unlink(spare);
    if (link(path, spare) != 0 && !is_same_file(path, spare)) return drove__rename(path, again);
    bool is_done = drove__rename(spare, again) || is_same_file(path, again);
    (void)unlink(spare); /* two names of one file: rename has done nothing */
    return is_done;
}

drove_status drove__folder_keep_state(const drove_config *config)
{
    char *path = drove__path_join(config->files.out, DROVE_STATE_NAME);
    char *previous = drove__path_join(config->files.out, DROVE_STATE_PREVIOUS_NAME);
    drove_status status = DROVE_OK;
    if (path == NULL || previous == NULL)
        status = drove__fail_nomem("a path", strlen(config->files.out));
    else if (access(path, F_OK) == 0 && !name_again(path, previous))
        status = drove__fail_errno(DROVE_E_IO, errno, "%s: cannot be written", previous);
    free(path);
    free(previous);
    return status;
}
