/* TensorBoard event files, read back by code that shares nothing with the writer: a byte-table
 * CRC-32C and a reader of protocol-buffer wire format that knows TensorBoard's field numbers. */
#include "support.h"

#include "trace/crc32c.h"
#include "trace/trace.h"

#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- independent reader ---- */

/* By a table of the remainders of all bytes, as in RFC 3720's appendix on iSCSI. */
static uint32_t table_crc(const uint8_t *bytes, size_t n)
{
    static uint32_t table[256];
    for (uint32_t b = 0; table[255] == 0 && b < 256; b++) {
        uint32_t rest = b;
        for (int i = 0; i < 8; i++) rest = rest & 1 ? rest >> 1 ^ 0x82f63b78u : rest >> 1;
        table[b] = rest;
    }
    uint32_t crc = 0xffffffffu;
    while (n-- > 0) crc = crc >> 8 ^ table[(crc ^ *bytes++) & 255];
    return crc ^ 0xffffffffu;
}

static uint64_t little_endian(const uint8_t *bytes, int n)
{
    uint64_t value = 0;
    while (n-- > 0) value = value << 8 | bytes[n];
    return value;
}

/* The stored checksum with its mask taken off again: minus a constant, rotated left by 15. */
static uint32_t unmasked(const uint8_t *bytes)
{
    uint32_t rotated = (uint32_t)little_endian(bytes, 4) - 0xa282ead8u;
    return rotated << 15 | rotated >> 17;
}

typedef struct slice {
    const uint8_t *at, *end;
} slice;

static uint64_t varint(slice *s)
{
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        assert_true(s->at < s->end && shift < 64);
        value |= (uint64_t)(*s->at & 127) << shift;
        if (!(*s->at++ & 128)) return value;
    }
}

/* Next field: its number, and its content as bytes (for a varint: its value in *number). */
static unsigned field(slice *s, slice *content, uint64_t *number)
{
    uint64_t key = varint(s);
    size_t length = 0;
    *number = 0;
    switch (key & 7) {
    case 0: *number = varint(s); break;
    case 1: length = 8; break;
    case 2: length = (size_t)varint(s); break;
    case 5: length = 4; break;
    default: fail_msg("wire type %d", (int)(key & 7));
    }
    assert_true(length <= (size_t)(s->end - s->at));
    *content = (slice){s->at, s->at + length};
    s->at += length;
    return (unsigned)(key >> 3);
}

static double as_double(const uint8_t *bytes)
{
    uint64_t bits = little_endian(bytes, 8);
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

static float as_float(const uint8_t *bytes)
{
    uint32_t bits = (uint32_t)little_endian(bytes, 4);
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

enum { MOST_BUCKETS = 700 };

typedef struct event {
    double wall_time;
    int64_t step;
    char version[32], tag[64];
    float scalar;
    bool has_scalar;
    double histo[6]; /* by field number 1 .. 5: min, max, num, sum, sum of squares */
    double limit[MOST_BUCKETS], count[MOST_BUCKETS];
    size_t n_limits, n_counts;
} event;

static void copy_text(slice s, char *to, size_t size_bytes)
{
    size_t n = (size_t)(s.end - s.at);
    assert_true(n < size_bytes);
    memcpy(to, s.at, n);
    to[n] = '\0';
}

static size_t copy_doubles(slice s, double *to)
{
    size_t n = (size_t)(s.end - s.at) / 8;
    assert_true((size_t)(s.end - s.at) == 8 * n && n <= MOST_BUCKETS);
    for (size_t i = 0; i < n; i++) to[i] = as_double(s.at + 8 * i);
    return n;
}

static void read_histogram(slice s, event *e)
{
    slice content;
    uint64_t number;
    while (s.at < s.end) {
        unsigned f = field(&s, &content, &number);
        if (f >= 1 && f <= 5) e->histo[f] = as_double(content.at);
        if (f == 6) e->n_limits = copy_doubles(content, e->limit);
        if (f == 7) e->n_counts = copy_doubles(content, e->count);
    }
}

static void read_value(slice s, event *e)
{
    slice content;
    uint64_t number;
    while (s.at < s.end) {
        unsigned f = field(&s, &content, &number);
        if (f == 1) copy_text(content, e->tag, sizeof e->tag);
        if (f == 2) {
            e->scalar = as_float(content.at);
            e->has_scalar = true;
        }
        if (f == 5) read_histogram(content, e);
    }
}

static void read_event(slice s, event *e)
{
    slice content, value;
    uint64_t number;
    *e = (event){.step = 0};
    while (s.at < s.end) {
        unsigned f = field(&s, &content, &number);
        if (f == 1) e->wall_time = as_double(content.at);
        if (f == 2) e->step = (int64_t)number;
        if (f == 3) copy_text(content, e->version, sizeof e->version);
        while (f == 5 && content.at < content.end) {
            if (field(&content, &value, &number) == 1) read_value(value, e);
        }
    }
}

/* Events of a file in e[most]; every checksum is checked and the file ends with a record. */
static size_t read_events(const char *path, event *e, size_t most)
{
    size_t size_bytes, n = 0;
    char *file = read_bytes(path, &size_bytes);
    const uint8_t *bytes = (const uint8_t *)file;
    for (size_t at = 0; at < size_bytes; n++) {
        assert_true(size_bytes - at >= 16 && n < most);
        uint64_t length = little_endian(bytes + at, 8);
        assert_int_equal(unmasked(bytes + at + 8), table_crc(bytes + at, 8));
        assert_true(length <= size_bytes - at - 16);
        const uint8_t *payload = bytes + at + 12;
        assert_int_equal(unmasked(payload + length), table_crc(payload, length));
        read_event((slice){payload, payload + length}, &e[n]);
        at += 16 + length;
    }
    free(file);
    return n;
}

/* The event files of a folder, sorted by name; returns how many. */
static unsigned list_events(const char *folder, char path[4][512])
{
    struct dirent **entry;
    int n = scandir(folder, &entry, NULL, alphasort);
    unsigned n_files = 0;
    assert_true(n >= 0);
    for (int i = 0; i < n; i++) {
        if (strncmp(entry[i]->d_name, "events.out.tfevents.", 20) == 0) {
            assert_true(n_files < 4);
            snprintf(path[n_files++], 512, "%s/%s", folder, entry[i]->d_name);
        }
        free(entry[i]);
    }
    free(entry);
    return n_files;
}

static void empty_folder(const char *folder)
{
    char path[4][512];
    mkdir(folder, 0777);
    for (unsigned n = list_events(folder, path); n-- > 0;) remove(path[n]);
}

/* ---- tests ---- */

TEST(test_crc32c_known_values)
{
    uint8_t bytes[32] = {0};
    assert_int_equal(drove__crc32c("123456789", 9), 0xe3069283u);
    assert_int_equal(drove__crc32c("", 0), 0);
    assert_int_equal(drove__crc32c(bytes, 32), 0x8a9136aau); /* RFC 3720, B.4: 32 bytes of 0 */
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(drove__crc32c(bytes, 32), 0x62a8ab43u); /* of 1s */
    for (int i = 0; i < 32; i++) bytes[i] = (uint8_t)i;
    assert_int_equal(drove__crc32c(bytes, 32), 0x46dd794eu); /* ascending */
    assert_int_equal(table_crc((const uint8_t *)"123456789", 9), 0xe3069283u);
}

TEST(test_scalars)
{
    static event e[8];
    char path[4][512];
    drove_events *events;
    empty_folder("scalars");
    double before = (double)time(NULL);
    assert_ok(drove__events_open("scalars", &events));
    assert_ok(drove__events_scalar(events, "loss/train", 1, 2.302585));
    assert_ok(drove__events_scalar(events, "loss/train", INT64_C(1) << 40, -0.5));
    assert_ok(drove__events_scalar(events, "accuracy", 0, NAN));
    assert_int_equal(list_events("scalars", path), 1);
    assert_int_equal(read_events(path[0], e, 8), 4); /* before it is closed: all are there */
    drove__events_close(events);

    assert_string_equal(e[0].version, "brain.Event:2");
    assert_string_equal(e[1].tag, "loss/train");
    assert_true(e[1].has_scalar && e[1].scalar == 2.302585f && e[1].step == 1);
    assert_true(e[2].scalar == -0.5f && e[2].step == INT64_C(1) << 40);
    assert_true(isnan(e[3].scalar) && e[3].step == 0);
    for (int i = 0; i < 4; i++) {
        assert_true(e[i].wall_time >= before && e[i].wall_time <= before + 60.0);
        if (i > 0) assert_true(e[i].wall_time >= e[i - 1].wall_time && e[i].version[0] == '\0');
    }
    drove__events_close(NULL);
}

TEST(test_histogram)
{
    static event e[8];
    char path[4][512];
    drove_events *events;
    drove_histogram h = {.n = 0};
    static const uint64_t values[] = {0, 0, 1, 3, 3, 3, 300};
    for (unsigned i = 0; i < DROVE_COUNT(values); i++) drove__hist_add(&h, values[i]);
    empty_folder("histogram");
    assert_ok(drove__events_open("histogram", &events));
    assert_ok(drove__events_histogram(events, "staleness", 77, &h));
    h = (drove_histogram){.n = 0};
    assert_ok(drove__events_histogram(events, "empty", 78, &h));
    drove__events_close(events);

    list_events("histogram", path);
    assert_int_equal(read_events(path[0], e, 8), 3);
    assert_string_equal(e[1].tag, "staleness");
    assert_int_equal(e[1].step, 77);
    assert_true(e[1].histo[1] == 0.0 && e[1].histo[2] == 300.0 && e[1].histo[3] == 7.0);
    assert_true(e[1].histo[4] == 310.0);
    assert_true(e[1].histo[5] ==
                1.0 + 27.0 + 256.0 * 256.0); /* 300 lies in the bucket 256 .. 511 */
    /* upper ends: 0, 1, (gap), 3, (gap), 256 .. 511 */
    static const double limit[] = {1, 2, 3, 4, 256, 512}, count[] = {2, 1, 0, 3, 0, 1};
    assert_int_equal(e[1].n_limits, 6);
    assert_int_equal(e[1].n_counts, 6);
    for (int i = 0; i < 6; i++) {
        assert_true(e[1].limit[i] == limit[i] && e[1].count[i] == count[i]);
    }
    assert_true(e[2].n_limits == 0 && e[2].n_counts == 0 && e[2].histo[3] == 0.0);
}

TEST(test_every_bucket_at_once)
{
    static event e[2];
    char path[4][512];
    drove_events *events;
    drove_histogram h = {.n = 0};
    for (unsigned i = 0; i < DROVE_HIST_BUCKETS; i += 2) drove__hist_add(&h, drove__hist_least(i));
    empty_folder("buckets");
    assert_ok(drove__events_open("buckets", &events));
    assert_ok(drove__events_histogram(events, "all", 1, &h));
    drove__events_close(events);
    list_events("buckets", path);
    assert_int_equal(read_events(path[0], e, 2), 2);
    double sum = 0.0;
    for (size_t i = 0; i < e[1].n_limits; i++) {
        sum += e[1].count[i];
        if (i > 0) assert_true(e[1].limit[i] > e[1].limit[i - 1]);
    }
    assert_true(sum == (double)h.n);
}

TEST(test_files_of_one_second)
{
    char path[4][512], host[256] = "", expected[600];
    drove_events *a, *b;
    empty_folder("twice");
    gethostname(host, sizeof host - 1);
    assert_ok(drove__events_open("twice", &a));
    assert_ok(drove__events_open("twice", &b));
    assert_int_equal(list_events("twice", path), 2);
    snprintf(expected, sizeof expected, ".%s.%ld", host, (long)getpid());
    assert_non_null(strstr(path[0], expected));
    drove__events_close(a);
    drove__events_close(b);
}

TEST(test_failures)
{
    static event e[4];
    char path[4][512];
    drove_events *events = (drove_events *)state;
    assert_int_equal(drove__events_open("no/such/folder", &events), DROVE_E_FILE);
    assert_null(events);
    empty_folder("full");
    assert_ok(drove__events_open("full", &events));
    assert_ok(drove__events_scalar(events, "a", 1, 1.0));
    limit_files(100);
    assert_int_equal(drove__events_scalar(events, "a tag that is too long", 2, 2.0), DROVE_E_IO);
    limit_files(0);
    assert_ok(drove__events_scalar(events, "b", 3, 3.0));
    drove__events_close(events);
    list_events("full", path);
    assert_int_equal(read_events(path[0], e, 4), 3);
    assert_string_equal(e[2].tag, "b");
}
