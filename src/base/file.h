/* base/file.h - reads plain and compressed files as a stream; writes files that appear whole or not
 * at all. */
#ifndef DROVE_BASE_FILE_H
#define DROVE_BASE_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- reading; one thread per reader ---- */

typedef struct drove_reader drove_reader;

/* Opens a file that is plain or compressed by gzip, bzip2, xz or zstd (detected by its first bytes,
 * not its name); "-" is standard input, "memory:7" a file in memory (base/memfile.h).
 * Errors: DROVE_E_IO (text names the file and the reason; a missing file suggests FILE.gz or FILE
 * without .gz if that exists; a URL how to fetch it), DROVE_E_NOMEM, DROVE_E_UNSUPPORTED (a
 * compression that this build lacks). */
drove_status drove__reader_open(const char *path, drove_reader **out);
void         drove__reader_close(drove_reader *r);

/* DROVE_E_FILE for "https://..." and the like, with the way out; DROVE_OK: it is no URL. */
drove_status drove__fail_url(const char *url);

/* A part of a text file in memory: whole lines. */
typedef struct drove_piece {
    const char *text; /* [n] borrowed */
    size_t      n;
    uint64_t    first_line; /* in the file, of its first line, from 1 */
} drove_piece;

/* Reads a piece as if it were the file `path`; lines count from piece->first_line.  piece NULL:
 * drove__reader_open. */
drove_status drove__reader_open_piece(const char *path, const drove_piece *piece,
                                      drove_reader **out);

/* A part of a file with content of its own: a member of a ZIP archive (base/zip.h). */
typedef struct drove_section {
    const char *name;         /* for errors: "FILE:NAME"                       */
    uint64_t    offset;       /* in the file                                   */
    uint64_t    packed_bytes; /* in the file                                   */
    uint64_t    size_bytes;   /* of the content                                */
    uint32_t    crc;          /* CRC-32 of the content                         */
    bool        is_deflated;  /* raw deflate stream; else stored as it is      */
} drove_section;

/* Opens a section of a regular file.  Its CRC-32 is checked when the last byte of the content is
 * read.  Errors: as above; DROVE_E_DATA (more content than the packed bytes can hold, or a section
 * beyond the end of the file). */
drove_status drove__reader_open_section(const char *path, const drove_section *section,
                                        drove_reader **out);

/* Before anything is read: content in an encoding (base/decode.h; NULL: UTF-8) is delivered as
 * UTF-8.  A byte order mark goes before it; that of UTF-8 stays in the content, others do not.
 * Errors: DROVE_E_ARG (no such encoding), those of reading. */
drove_status drove__reader_decode(drove_reader *r, const char *encoding);
/* Characters so far that are not valid in the encoding, and were read as U+FFFD. */
uint64_t drove__reader_n_replaced(const drove_reader *r);

/* The next bytes of the content, without consuming them: at least 6 unless there are fewer, before
 * anything is read.  *head is valid until the next call. */
drove_status drove__reader_head(drove_reader *r, const char **head, size_t *n);

/* Reads exactly size_bytes.  Errors: DROVE_E_DATA (file ends early: says at which byte, and how
 * many were expected), DROVE_E_IO / DROVE_E_DATA (damaged compressed stream). */
drove_status drove__reader_read(drove_reader *r, void *into, size_t size_bytes);

/* Reads up to size_bytes; *n_read == 0 at the end. */
drove_status drove__reader_read_some(drove_reader *r, void *into, size_t size_bytes,
                                     size_t *n_read);

/* Reads [offset, offset + size_bytes) of a file for which drove__reader_is_regular; *n_read is less
 * at the end of the file.  Several threads may call it at once; the position stays. */
drove_status drove__reader_read_at(const drove_reader *r, uint64_t offset, void *into,
                                   size_t size_bytes, size_t *n_read);

/* Skips exactly size_bytes, in a plain file without reading them.  Errors: as for reading. */
drove_status drove__reader_skip(drove_reader *r, uint64_t size_bytes);

/* Next line without its "\n" or "\r\n"; *line is NUL-terminated, owned by the reader, valid until
 * the next call, and NULL at the end of the file.  *length excludes the NUL (a line may hold NUL
 * bytes: compare with strlen).  Errors: DROVE_E_DATA (a line above 64 MiB), DROVE_E_NOMEM,
 * DROVE_E_IO. */
drove_status drove__reader_line(drove_reader *r, char **line, size_t *length);

const char *drove__reader_path(const drove_reader *r);
/* Number of the last line returned, from 1. */
uint64_t drove__reader_line_number(const drove_reader *r);
/* Bytes of content consumed so far. */
uint64_t drove__reader_offset(const drove_reader *r);
/* Upper bound of the content's size: the bytes on disk for a plain file, 1,100 times that for gzip
 * (deflate reaches at most 1,032), the declared and checked size of a section, four times the bytes
 * that are decoded, UINT64_MAX for bzip2, xz, zstd and for a pipe.  If the counts in a header need
 * more, a reader refuses the file before it allocates memory. */
uint64_t drove__reader_most_bytes(const drove_reader *r);
/* Refuses compressed content that is declared to be of more than 256 MiB and more than 200 times as
 * large as it is compressed: a file of nothing but zeros that would fill the memory.  Of a pipe the
 * compressed size is not known, and nothing is refused.  Errors: DROVE_E_UNSUPPORTED. */
drove_status drove__reader_check_unpacked(const drove_reader *r, uint64_t size_bytes);
/* The content's size if it is known: that of a plain regular file; else UINT64_MAX. */
uint64_t drove__reader_plain_bytes(const drove_reader *r);
/* Whether it is a plain regular file that was opened by its name, not a section. */
bool drove__reader_is_regular(const drove_reader *r);

/* ---- writing; one thread per writer ----
 *
 * Content goes to a temporary file beside the target; commit calls fsync, renames it and syncs the
 * folder.  An existing target that is no regular file (a device, a pipe) is written directly and
 * never replaced; the file that a symbolic link leads to is replaced, not the link.  The new file
 * has mode, owner and group of the old one, as far as this user may give them. */

typedef struct drove_writer drove_writer;

drove_status drove__writer_create(const char *path, drove_writer **out);
FILE *drove__writer_stream(drove_writer *w); /* for fprintf; its failures are reported by commit */
drove_status drove__writer_write(drove_writer *w, const void *bytes, size_t size_bytes);
/* Hands all that was written to the system.  *path: where it can be read until w is committed or
 * aborted; NULL: the target is no regular file.  Errors: DROVE_E_IO. */
drove_status drove__writer_flush(drove_writer *w, const char **path);
/* Makes the file appear; frees w even on failure.
 * Errors: DROVE_E_IO (also a full disk). */
drove_status drove__writer_commit(drove_writer *w);
/* The same of two files that belong together: after an error both are as before, unless its text
 * says that they are written, or where old content lies now; devices and pipes have what was
 * written.  Errors: also DROVE_E_ARG (both paths name one file). */
drove_status drove__writer_commit_both(drove_writer *first, drove_writer *second);
void         drove__writer_abort(drove_writer *w); /* removes the temporary file; w may be NULL */

/* rename(2), also where a server has done it and its answer was lost: NFS asks again then, and is
 * told that `from` does not exist.  errno as of rename. */
bool drove__rename(const char *from, const char *to);

/* Loads a whole small file (config, headers), plain or gzip; refuses more than most_bytes
 * (DROVE_E_DATA).  Adds a NUL after *size_bytes; the caller calls free(). */
drove_status drove__file_load(const char *path, size_t most_bytes, char **out, size_t *size_bytes);

bool drove__is_folder(const char *path);
/* Bytes of the ending of a compressed file, ".gz" or ".GZ", that path[n] has; 0: none. */
size_t drove__compression_ending(const char *path, size_t n);

/* folder/name in memory of malloc; NULL when there is none. */
char *drove__path_join(const char *folder, const char *name);

/* ---- cache: files that may be deleted at any time ---- */

/* XDG_CACHE_HOME/drove or ~/.cache/drove, created if missing.  false: there is no writable
 * folder. */
bool drove__cache_folder(char *into, size_t size_bytes);

#endif
