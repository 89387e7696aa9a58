/* engine/accel/kernels/loss.h - the five losses of z[rows][n] and their derivatives, in the common
 * language of prelude_opencl.h.
 *
 * Definitions: model/loss_*.c and kernel/ref/rows.c.  The DROVE_LANES items of a group share a row,
 * and a group takes rows_each rows; sums go up a tree that is the same in each run.  Written are
 * loss[r], count[r][3] (right | true positives, false positives, false negatives) and, for
 * scale > 0, dz = scale * dloss/dz; without, dz is not touched.
 */

/* ---- what the lanes of a row do together ---- */

#if DROVE_LANES == 1
#define DROVE_BOX(box)     float box[1]
#define DROVE_BOX_ARGUMENT float *box
DROVE_FUNCTION float drove_lanes_sum(DROVE_BOX_ARGUMENT, float v)
{
    (void)box;
    return v;
}
#else
#define DROVE_BOX(box)     DROVE_SHARED float box[DROVE_LANES]
#define DROVE_BOX_ARGUMENT DROVE_LOCAL float *box
DROVE_FUNCTION float drove_lanes_sum(DROVE_BOX_ARGUMENT, float v)
{
    size_t lane = DROVE_LANE;
    box[lane] = v;
    DROVE_BARRIER();
    for (size_t reach = DROVE_LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach) box[lane] += box[lane + reach];
        DROVE_BARRIER();
    }
    float total = box[0];
    DROVE_BARRIER();
    return total;
}
#endif

/* The largest of v, and in *place the lowest place of those that have it. */
DROVE_FUNCTION float drove_lanes_largest(DROVE_BOX_ARGUMENT, float v, float *place)
{
#if DROVE_LANES == 1
    (void)box;
    (void)place;
    return v;
#else
    size_t lane = DROVE_LANE;
    box[lane] = v;
    DROVE_BARRIER();
    for (size_t reach = DROVE_LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach && box[lane + reach] > box[lane]) box[lane] = box[lane + reach];
        DROVE_BARRIER();
    }
    float largest = box[0];
    DROVE_BARRIER();
    box[lane] = v == largest ? *place : 1e9f;
    DROVE_BARRIER();
    for (size_t reach = DROVE_LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach && box[lane + reach] < box[lane]) box[lane] = box[lane + reach];
        DROVE_BARRIER();
    }
    *place = box[0];
    DROVE_BARRIER();
    return largest;
#endif
}

/* The largest of z[n], and its place, the first of equals (exact up to 2^24 outputs); n >= 1. */
DROVE_FUNCTION float drove_row_largest(DROVE_BOX_ARGUMENT, DROVE_GLOBAL const float *z, size_t n,
                                       float *place)
{
    size_t best = DROVE_LANE < n ? DROVE_LANE : 0;
    for (size_t o = DROVE_LANE; o < n; o += DROVE_LANES)
        if (z[o] > z[best]) best = o;
    *place = (float)best;
    return drove_lanes_largest(box, z[best], place);
}

/* ---- one row ---- */

DROVE_FUNCTION float drove_softmax_row(DROVE_BOX_ARGUMENT, DROVE_GLOBAL const float *z, size_t n,
                                       size_t wanted, float scale,
                                       DROVE_GLOBAL float *DROVE_RESTRICT dz, float *best)
{
    float largest = drove_row_largest(box, z, n, best), sum = 0.0f;
    if (scale > 0.0f) {
        for (size_t o = DROVE_LANE; o < n; o += DROVE_LANES) dz[o] = drove_exp(z[o] - largest);
        for (size_t o = DROVE_LANE; o < n; o += DROVE_LANES) sum += dz[o];
    } else {
        for (size_t o = DROVE_LANE; o < n; o += DROVE_LANES) sum += drove_exp(z[o] - largest);
    }
    sum = drove_lanes_sum(box, sum);
    if (scale > 0.0f) {
        float inverse = 1.0f / sum;
        for (size_t o = DROVE_LANE; o < n; o += DROVE_LANES) {
            float share = dz[o] * inverse;
            dz[o] = scale * (o == wanted ? share - 1.0f : share);
        }
    }
    return DROVE_LOG(sum) + (largest - z[wanted]);
}

/* sum of log(1 + exp(z)) = max(z, 0) - log(max(p, 1 - p)), p = sigmoid(z): the logarithms of up to
 * 64 outputs are one of their product, which is at least 2^-64.  dz (scale > 0) becomes p.
 * *positive: outputs above 0.  Of one lane; its outputs are those of the loop. */
DROVE_FUNCTION float drove_softplus_lane(DROVE_GLOBAL const float *z, size_t n, float scale,
                                         DROVE_GLOBAL float *DROVE_RESTRICT dz, float *positive)
{
    float loss = 0.0f, count = 0.0f;
    for (size_t at = DROVE_LANE; at < n; at += 64 * DROVE_LANES) {
        float  product = 1.0f, part = 0.0f;
        size_t end = drove_least(at + 64 * DROVE_LANES, n);
        for (size_t o = at; o < end; o += DROVE_LANES) {
            float p = drove_sigmoid(z[o]);
            if (scale > 0.0f) dz[o] = p;
            product *= p >= 0.5f ? p : 1.0f - p; /* a NaN stays one */
            part += z[o] > 0.0f ? z[o] : 0.0f;
            count += z[o] > 0.0f ? 1.0f : 0.0f;
        }
        loss += part - DROVE_LOG(product);
    }
    *positive = count;
    return loss;
}

DROVE_FUNCTION int drove_is_label(DROVE_GLOBAL const unsigned *label, size_t first, size_t last,
                                  size_t o)
{
    while (first < last) { /* they ascend */
        size_t middle = first + (last - first) / 2;
        if (label[middle] == o) return 1;
        if (label[middle] < o) first = middle + 1;
        else last = middle;
    }
    return 0;
}

/* max(0, 1 - y z), summed; 0 at the kink. */
DROVE_FUNCTION float drove_hinge_lane(DROVE_GLOBAL const float *z, size_t n, size_t wanted,
                                      float scale, DROVE_GLOBAL float *DROVE_RESTRICT dz)
{
    float loss = 0.0f;
    for (size_t o = DROVE_LANE; o < n; o += DROVE_LANES) {
        float y = (n == 1 ? wanted == 1 : wanted == o) ? 1.0f : -1.0f;
        float margin = 1.0f - y * z[o];
        int   is_met = margin <= 0.0f; /* false for a NaN */
        loss += is_met ? 0.0f : margin;
        if (scale > 0.0f) dz[o] = is_met ? 0.0f : -y * scale;
    }
    return loss;
}

/* ---- kernels: DROVE_GROUP counts blocks of rows_each rows ---- */

DROVE_FUNCTION void drove_count(DROVE_GLOBAL float *count, size_t r, float a, float b, float c)
{
    DROVE_GLOBAL unsigned *to = DROVE_WORD_TO(count) + 3 * r;
    to[0] = (unsigned)a;
    to[1] = (unsigned)b;
    to[2] = (unsigned)c;
}

DROVE_KERNEL void drove_loss_softmax(DROVE_GLOBAL const float *z, drove_place z_at,
                                     DROVE_GLOBAL const float *target, drove_place target_at,
                                     unsigned n_rows, unsigned n, float scale,
                                     DROVE_GLOBAL float *dz, drove_place dz_at,
                                     DROVE_GLOBAL float *loss, drove_place loss_at,
                                     DROVE_GLOBAL float *count, drove_place count_at,
                                     unsigned rows_each)
{
    DROVE_BOX(box);
    size_t end = drove_least((DROVE_GROUP + 1) * (size_t)rows_each, n_rows);
    for (size_t r = DROVE_GROUP * (size_t)rows_each; r < end; r++) {
        float  best;
        size_t wanted = (size_t)DROVE_INT(target)[target_at + r];
        float  v =
            drove_softmax_row(box, z + z_at + r * n, n, wanted, scale, dz + dz_at + r * n, &best);
        if (DROVE_LANE == 0) {
            loss[loss_at + r] = v;
            drove_count(count + count_at, r, best == (float)wanted ? 1.0f : 0.0f, 0.0f, 0.0f);
        }
    }
}

/* labels in x at start_at and label_at, as the pairs of a sparse row */
DROVE_KERNEL void drove_loss_sigmoid(DROVE_GLOBAL const float *z, drove_place z_at,
                                     DROVE_GLOBAL const float *x, drove_place start_at,
                                     drove_place label_at, unsigned n_rows, unsigned n, float scale,
                                     DROVE_GLOBAL float *dz, drove_place dz_at,
                                     DROVE_GLOBAL float *loss, drove_place loss_at,
                                     DROVE_GLOBAL float *count, drove_place count_at,
                                     unsigned rows_each)
{
    DROVE_BOX(box);
    DROVE_GLOBAL const unsigned *start = DROVE_WORD(x) + start_at,
                                *label = DROVE_WORD(x) + label_at;
    size_t end = drove_least((DROVE_GROUP + 1) * (size_t)rows_each, n_rows);
    for (size_t r = DROVE_GROUP * (size_t)rows_each; r < end; r++) {
        DROVE_GLOBAL const float *row = z + z_at + r * n;
        DROVE_GLOBAL float       *d = dz + dz_at + r * n;
        size_t                    first = start[r], last = start[r + 1];
        float positive, hits = 0.0f, v = drove_softplus_lane(row, n, scale, d, &positive);
        for (size_t p = first + DROVE_LANE; p < last; p += DROVE_LANES) {
            v -= row[label[p]];
            hits += row[label[p]] > 0.0f ? 1.0f : 0.0f;
        }
        if (scale > 0.0f) {
            for (size_t o = DROVE_LANE; o < n; o += DROVE_LANES)
                d[o] = scale * (drove_is_label(label, first, last, o) ? d[o] - 1.0f : d[o]);
        }
        v = drove_lanes_sum(box, v);
        hits = drove_lanes_sum(box, hits);
        positive = drove_lanes_sum(box, positive);
        if (DROVE_LANE == 0) {
            loss[loss_at + r] = v;
            drove_count(count + count_at, r, hits, positive - hits, (float)(last - first) - hits);
        }
    }
}

/* two classes, one output: a row is one number, and DROVE_AT(0) counts rows */
DROVE_KERNEL void drove_loss_logistic(DROVE_GLOBAL const float *z, drove_place z_at,
                                      DROVE_GLOBAL const float *target, drove_place target_at,
                                      unsigned n_rows, float scale, DROVE_GLOBAL float *dz,
                                      drove_place dz_at, DROVE_GLOBAL float *loss,
                                      drove_place loss_at, DROVE_GLOBAL float *count,
                                      drove_place count_at)
{
    size_t r = DROVE_AT(0);
    if (r >= n_rows) return;
    float v = z[z_at + r], p = drove_sigmoid(v), t = (float)DROVE_INT(target)[target_at + r];
    loss[loss_at + r] = (v > 0.0f ? v : 0.0f) - DROVE_LOG(p >= 0.5f ? p : 1.0f - p) - t * v;
    drove_count(count + count_at, r, (v > 0.0f) == (t == 1.0f) ? 1.0f : 0.0f, 0.0f, 0.0f);
    if (scale > 0.0f) dz[dz_at + r] = scale * (p - t);
}

DROVE_KERNEL void drove_loss_hinge(DROVE_GLOBAL const float *z, drove_place z_at,
                                   DROVE_GLOBAL const float *target, drove_place target_at,
                                   unsigned n_rows, unsigned n, float scale, DROVE_GLOBAL float *dz,
                                   drove_place dz_at, DROVE_GLOBAL float *loss, drove_place loss_at,
                                   DROVE_GLOBAL float *count, drove_place count_at,
                                   unsigned rows_each)
{
    DROVE_BOX(box);
    size_t end = drove_least((DROVE_GROUP + 1) * (size_t)rows_each, n_rows);
    for (size_t r = DROVE_GROUP * (size_t)rows_each; r < end; r++) {
        float                     best;
        size_t                    wanted = (size_t)DROVE_INT(target)[target_at + r];
        DROVE_GLOBAL const float *row = z + z_at + r * n;
        drove_row_largest(box, row, n, &best);
        if (n == 1) best = row[0] > 0.0f ? 1.0f : 0.0f;
        float v = drove_hinge_lane(row, n, wanted, scale, dz + dz_at + r * n);
        v = drove_lanes_sum(box, v);
        if (DROVE_LANE == 0) {
            loss[loss_at + r] = v;
            drove_count(count + count_at, r, best == (float)wanted ? 1.0f : 0.0f, 0.0f, 0.0f);
        }
    }
}

/* has_class: targets are classes, 1 for the own output and 0 for the others; else values */
DROVE_KERNEL void drove_loss_squared(DROVE_GLOBAL const float *z, drove_place z_at,
                                     DROVE_GLOBAL const float *target, drove_place target_at,
                                     int has_class, unsigned n_rows, unsigned n, float scale,
                                     DROVE_GLOBAL float *dz, drove_place dz_at,
                                     DROVE_GLOBAL float *loss, drove_place loss_at,
                                     DROVE_GLOBAL float *count, drove_place count_at,
                                     unsigned rows_each)
{
    DROVE_BOX(box);
    size_t end = drove_least((DROVE_GROUP + 1) * (size_t)rows_each, n_rows);
    for (size_t r = DROVE_GROUP * (size_t)rows_each; r < end; r++) {
        float                     best, v = 0.0f;
        size_t                    wanted = has_class ? (size_t)DROVE_INT(target)[target_at + r] : 0;
        DROVE_GLOBAL const float *row = z + z_at + r * n;
        DROVE_GLOBAL float       *d = dz + dz_at + r * n;
        drove_row_largest(box, row, n, &best);
        for (size_t o = DROVE_LANE; o < n; o += DROVE_LANES) {
            float t = has_class ? (o == wanted ? 1.0f : 0.0f) : target[target_at + r * n + o];
            float error = row[o] - t;
            v += 0.5f * error * error;
            if (scale > 0.0f) d[o] = scale * error;
        }
        v = drove_lanes_sum(box, v);
        if (DROVE_LANE == 0) {
            loss[loss_at + r] = v;
            drove_count(count + count_at, r, has_class && best == (float)wanted ? 1.0f : 0.0f, 0.0f,
                        0.0f);
        }
    }
}
