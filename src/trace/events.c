/* trace/events.c - TensorBoard event files.
 *
 * A file is a sequence of records, integers little-endian:
 *     uint64 length | uint32 masked CRC-32C of these 8 bytes | payload | uint32 the same of payload
 * and each payload is one Event message (events.proto).  The first one holds the format version.
 * One thread at a time.  Every event is written immediately and whole, so a reader may follow the
 * file as it grows.
 */
#include "trace/append.h"
#include "trace/crc32c.h"
#include "trace/trace.h"

#include "events.pb-c.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FRAME_HEAD = 12, FRAME_TAIL = 4, HOST_SIZE = 256, SAME_SECOND_MOST = 100 };

struct drove_events {
    drove_append file;
};

static void put_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> (8 * i));
}

/* The format rotates and offsets its checksums, so that a checksum of data that contains checksums
 * stays useful. */
static uint32_t masked_crc(const uint8_t *bytes, size_t size_bytes)
{
    uint32_t crc = drove__crc32c(bytes, size_bytes);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static drove_status write_event(drove_events *e, Drove__Events__Event *event)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    event->wall_time = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;

    size_t length = drove__events__event__get_packed_size(event);
    uint8_t *record = malloc(FRAME_HEAD + length + FRAME_TAIL);
    if (record == NULL) return drove__fail_nomem("event", FRAME_HEAD + length + FRAME_TAIL);
    uint8_t *payload = record + FRAME_HEAD;
    put_u32(record, (uint32_t)length);
    put_u32(record + 4, (uint32_t)((uint64_t)length >> 32));
    put_u32(record + 8, masked_crc(record, 8));
    drove__events__event__pack(event, payload);
    put_u32(payload + length, masked_crc(payload, length));

    drove_status status = drove__append_write(&e->file, record, FRAME_HEAD + length + FRAME_TAIL);
    free(record);
    return status;
}

/* Creates a file; its name ends in .1, .2 ... if this process has opened one in the same second. */
static drove_status open_new(const char *folder, drove_append *file)
{
    char host[HOST_SIZE] = "localhost";
    if (gethostname(host, sizeof host - 1) != 0) strcpy(host, "localhost");
    size_t size_bytes = strlen(folder) + HOST_SIZE + 128;
    char *path = malloc(size_bytes);
    if (path == NULL) return drove__fail_nomem("file name", size_bytes);
    int n = snprintf(path, size_bytes, "%s/events.out.tfevents.%010lld.%s.%ld", folder,
                     (long long)time(NULL), host, (long)getpid());
    drove_status status = DROVE_OK;
    for (int i = 1; i <= SAME_SECOND_MOST; i++) {
        status = drove__append_open(file, path, O_CREAT | O_EXCL);
        if (status == DROVE_OK || access(path, F_OK) != 0) break;
        snprintf(path + n, size_bytes - (size_t)n, ".%d", i);
    }
    free(path);
    return status;
}

drove_status drove__events_open(const char *folder, drove_events **out)
{
    *out = NULL;
    drove_events *e = malloc(sizeof *e);
    if (e == NULL) return drove__fail_nomem("event file", sizeof *e);
    e->file = (drove_append){.fd = -1};
    Drove__Events__Event event = DROVE__EVENTS__EVENT__INIT;
    event.what_case = DROVE__EVENTS__EVENT__WHAT_FILE_VERSION;
    event.file_version = (char[]){"brain.Event:2"};
    drove_status status = open_new(folder, &e->file);
    if (status == DROVE_OK) status = write_event(e, &event);
    if (status != DROVE_OK) {
        drove__events_close(e);
        return status;
    }
    *out = e;
    return DROVE_OK;
}

/* One value under a tag; value's kind is set by the caller. */
static drove_status write_value(drove_events *e, const char *tag, int64_t step,
                                Drove__Events__Value *value)
{
    char *tag_copy = strdup(tag); /* the generated type wants it writable */
    if (tag_copy == NULL) return drove__fail_nomem("event", strlen(tag) + 1);
    Drove__Events__Summary summary = DROVE__EVENTS__SUMMARY__INIT;
    Drove__Events__Event event = DROVE__EVENTS__EVENT__INIT;
    value->tag = tag_copy;
    summary.n_value = 1;
    summary.value = &value;
    event.step = step;
    event.what_case = DROVE__EVENTS__EVENT__WHAT_SUMMARY;
    event.summary = &summary;
    drove_status status = write_event(e, &event);
    free(tag_copy);
    return status;
}

drove_status drove__events_scalar(drove_events *e, const char *tag, int64_t step, double value)
{
    Drove__Events__Value v = DROVE__EVENTS__VALUE__INIT;
    v.value_case = DROVE__EVENTS__VALUE__VALUE_SIMPLE_VALUE;
    v.simple_value = (float)value;
    return write_value(e, tag, step, &v);
}

drove_status drove__events_histogram(drove_events *e, const char *tag, int64_t step,
                                     const drove_histogram *h)
{
    double limit[2 * DROVE_HIST_BUCKETS], count[2 * DROVE_HIST_BUCKETS];
    Drove__Events__Histogram histogram = DROVE__EVENTS__HISTOGRAM__INIT;
    histogram.min = (double)drove__hist_quantile(h, 0.0);
    histogram.max = (double)h->max;
    histogram.num = (double)h->n;
    histogram.sum = h->sum;
    for (unsigned i = 0; i < DROVE_HIST_BUCKETS; i++) { /* wide buckets count as their lower end */
        double value = (double)drove__hist_least(i);
        histogram.sum_squares += (double)h->count[i] * value * value;
    }

    /* The occupied buckets.  A gap counts as one empty bucket, so that no bucket seems too wide. */
    size_t n = 0;
    double end = 0.0; /* of the last bucket written */
    for (unsigned i = 0; i < DROVE_HIST_BUCKETS; i++) {
        if (h->count[i] == 0) continue;
        double start = (double)drove__hist_least(i);
        if (start > end) {
            limit[n] = start;
            count[n++] = 0.0;
        }
        end = i < DROVE_HIST_EXACT ? start + 1.0 : 2.0 * start;
        limit[n] = end;
        count[n++] = (double)h->count[i];
    }
    histogram.n_bucket = histogram.n_bucket_limit = n;
    histogram.bucket_limit = limit;
    histogram.bucket = count;
    Drove__Events__Value value = DROVE__EVENTS__VALUE__INIT;
    value.value_case = DROVE__EVENTS__VALUE__VALUE_HISTO;
    value.histo = &histogram;
    return write_value(e, tag, step, &value);
}

drove_status drove__events_sync(const drove_events *e)
{
    return e != NULL ? drove__append_sync(&e->file) : DROVE_OK;
}

void drove__events_close(drove_events *e)
{
    if (e == NULL) return;
    drove__append_close(&e->file);
    free(e);
}
