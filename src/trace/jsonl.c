/* trace/jsonl.c - log.jsonl: appends one JSON record per line.
 *
 * A run that is killed while it writes can leave half a line, only at the end.  Opening removes it,
 * so that every line of the file is a whole record.  One writer per file; one thread at a time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memrchr */
#endif
#include "trace/append.h"
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct drove_jsonl {
    drove_append file;
};

/* *size = bytes in the file; *whole = bytes up to and including the last line end, 0 if there is
 * none. */
static drove_status find_whole_lines(const char *path, off_t *size, off_t *whole)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return drove__fail_errno(drove__open_status(errno), errno,
                                 "%s: cannot be opened for reading", path);
    drove_status status = DROVE_OK;
    char block[4096];
    off_t at = lseek(fd, 0, SEEK_END);
    *size = at;
    *whole = 0;
    while (at > 0 && *whole == 0) {
        off_t start = at > (off_t)sizeof block ? at - (off_t)sizeof block : 0;
        ssize_t n;
        do {
            n = pread(fd, block, (size_t)(at - start), start);
        } while (n < 0 && errno == EINTR);
        if (n != at - start) {
            status = drove__fail_errno(DROVE_E_IO, n < 0 ? errno : EIO, "%s: cannot be read", path);
            break;
        }
        const char *last = memrchr(block, '\n', (size_t)n);
        if (last != NULL) *whole = start + (last - block) + 1;
        at = start;
    }
    close(fd);
    return status;
}

drove_status drove__jsonl_open(const char *path, drove_jsonl **out)
{
    *out = NULL;
    drove_jsonl *log = malloc(sizeof *log);
    if (log == NULL) return drove__fail_nomem("log", sizeof *log);
    log->file = (drove_append){.fd = -1};
    off_t size = 0, whole = 0;
    drove_status status = drove__append_open(&log->file, path, O_CREAT);
    if (status == DROVE_OK) status = find_whole_lines(path, &size, &whole);
    if (status == DROVE_OK && whole < size && ftruncate(log->file.fd, whole) != 0) {
        status = drove__fail_errno(DROVE_E_IO, errno, "%s: cannot remove the half line at its end",
                                   path);
    }
    if (status != DROVE_OK) {
        drove__jsonl_close(log);
        return status;
    }
    *out = log;
    return DROVE_OK;
}

drove_status drove__jsonl_append(drove_jsonl *log, const char *json_line)
{
    size_t length = strlen(json_line);
    if (memchr(json_line, '\n', length) != NULL) {
        return drove__fail(DROVE_E_ARG,
                           "%s: expected a record of one line, found a line break in it",
                           log->file.path);
    }
    char *line = malloc(length + 1);
    if (line == NULL) return drove__fail_nomem("log record", length + 1);
    memcpy(line, json_line, length);
    line[length] = '\n';
    drove_status status = drove__append_write(&log->file, line, length + 1);
    free(line);
    return status;
}

drove_status drove__jsonl_sync(const drove_jsonl *log)
{
    return log != NULL ? drove__append_sync(&log->file) : DROVE_OK;
}

void drove__jsonl_close(drove_jsonl *log)
{
    if (log == NULL) return;
    drove__append_close(&log->file);
    free(log);
}
