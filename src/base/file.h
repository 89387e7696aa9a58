/* base/file.h - reading plain or gzip files as a stream, and writing files that appear whole or not
 * at all. */
#ifndef DROVE_BASE_FILE_H
#define DROVE_BASE_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- reading; one thread a reader ---- */

typedef struct drove_reader drove_reader;

/* Opens a plain or .gz file (told by its first bytes, not its name).
 * Errors: DROVE_E_IO (text names the file and the reason; a missing file suggests FILE.gz or FILE
 * without .gz if that exists), DROVE_E_NOMEM. */
drove_status drove__reader_open(const char *path, drove_reader **out);
void         drove__reader_close(drove_reader *r);

/* Reads exactly size_bytes.  Errors: DROVE_E_DATA (file ends early: says at which byte, and how
 * many were expected), DROVE_E_IO / DROVE_E_DATA (damaged gzip stream). */
drove_status drove__reader_read(drove_reader *r, void *into, size_t size_bytes);

/* Reads up to size_bytes; *n_read == 0 at the end. */
drove_status drove__reader_read_some(drove_reader *r, void *into, size_t size_bytes,
                                     size_t *n_read);

/* Passes over exactly size_bytes; of a plain file they are not read.  Errors: as reading them. */
drove_status drove__reader_skip(drove_reader *r, uint64_t size_bytes);

/* Next line without its "\n" or "\r\n"; *line is NUL-terminated, owned by the reader, valid until
 * the next call, and NULL at the end of the file.  *length excludes the NUL (a line may hold NUL
 * bytes: compare with strlen).  Errors: DROVE_E_DATA (a line above 256 MiB), DROVE_E_NOMEM,
 * DROVE_E_IO. */
drove_status drove__reader_line(drove_reader *r, char **line, size_t *length);

const char *drove__reader_path(const drove_reader *r);
/* Of the last line returned, from 1. */
uint64_t drove__reader_line_number(const drove_reader *r);
/* Bytes of content consumed. */
uint64_t drove__reader_offset(const drove_reader *r);
/* No decompressed content can be larger than this: the bytes on disk for a plain file, 1,100 times
 * that for gzip (deflate cannot do more than 1,032), UINT64_MAX for a pipe.  A count in a header
 * that needs more is refused before memory is asked for. */
uint64_t drove__reader_most_bytes(const drove_reader *r);

/* ---- writing; one thread a writer ----
 *
 * To a temporary file beside the target; then fsync, rename, fsync of the folder.  A target that
 * exists and is no regular file (a device, a pipe) is written directly and never replaced. */

typedef struct drove_writer drove_writer;

drove_status drove__writer_create(const char *path, drove_writer **out);
FILE *drove__writer_stream(drove_writer *w); /* for fprintf; its failures are reported by commit */
drove_status drove__writer_write(drove_writer *w, const void *bytes, size_t size_bytes);
/* Makes the file appear and frees w, whatever the result.
 * Errors: DROVE_E_IO (also a full disk). */
drove_status drove__writer_commit(drove_writer *w);
void         drove__writer_abort(drove_writer *w); /* removes the temporary file; w may be NULL */

/* Whole small file in memory (config, headers), plain or gzip; refuses more than most_bytes
 * (DROVE_E_DATA).  NUL added after *size_bytes; free(). */
drove_status drove__file_load(const char *path, size_t most_bytes, char **out, size_t *size_bytes);

/* folder/name in memory of malloc; NULL when there is none. */
char *drove__path_join(const char *folder, const char *name);

/* ---- what may be lost: drove's folder of the user's cache ---- */

/* XDG_CACHE_HOME/drove or ~/.cache/drove, made if it is missing.  false: there is none that can be
 * written to. */
bool drove__cache_folder(char *into, size_t size_bytes);

#endif
