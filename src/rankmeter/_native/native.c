/* What rankmeter compiles: rows grouped by user, matched and counted; dictionaries and lists, read
 * and looked up; lines of TREC files, which stay bytes.
 *
 * Python does the same where this was not compiled (`_native/__init__.py`), and where a function here
 * answers that its input needs a closer look. Elements of arrays have 64 bits unless it says
 * otherwise; orders of rows have 32. Only the stable ABI of Python 3.11 is used.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Compiled for several widths of vectors, of which the processor takes its best. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#define MANY 256 /* targets, for which rows are sorted instead of compared with each */
#else
#define WIDE
#define MANY 64
#endif

#define CACHED 4096 /* numbers, which are compared with every target before the next ones */
#define SHORT 32 /* numbers, which are sorted by insertion */

typedef unsigned char byte;

static const double EXACT = 9007199254740992.0; /* 2**53: integers below have a float */

/* ---- Arguments and answers ---- */

enum { NO = -1, UNFIT = -2, NO_MEMORY = -3, RAISED = -4 };

/* Give the arrays back, and answer with a number or an error. */
static PyObject *answer(Py_ssize_t outcome, Py_buffer *views, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        PyBuffer_Release(&views[i]);
    if (outcome == RAISED)
        return NULL;
    if (outcome == NO_MEMORY)
        return PyErr_NoMemory();
    if (outcome == UNFIT) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        return NULL;
    }
    return PyLong_FromSsize_t(outcome);
}

/* Take arrays from the first of so many arguments; None is an array without elements, and a bit of
 * `written` is set for those that are written. */
static int take(PyObject *const *args, Py_ssize_t n_args, Py_ssize_t n_wanted, Py_buffer *views,
                Py_ssize_t n, unsigned written) {
    if (n_args != n_wanted) {
        PyErr_SetString(PyExc_TypeError, "wrong number of arguments");
        return -1;
    }
    memset(views, 0, (size_t)n * sizeof *views);
    for (Py_ssize_t i = 0; i < n; i++) {
        int flags = written >> i & 1 ? PyBUF_WRITABLE : PyBUF_SIMPLE;
        if (args[i] != Py_None && PyObject_GetBuffer(args[i], &views[i], flags) < 0) {
            answer(RAISED, views, i);
            return -1;
        }
    }
    return 0;
}

static Py_ssize_t size(const Py_buffer *view) {
    return view->len / 8;
}

/* ---- The table of ids, pairs and documents ---- */

static uint64_t SEED[2]; /* random in each process, so that ids cannot be chosen to collide */

/* Both halves of a product, folded. */
static inline uint64_t folded(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
    uint64_t cross = a_low * b_high + (uint32_t)middle;
    return a * b ^ (a_high * b_high + (middle >> 32) + (cross >> 32));
#endif
}

/* Maps keys to entry numbers 0, 1, 2 ... A slot stores base + entry + 1; a value up to `base` marks
 * an empty slot, so a new list only raises `base` and clears nothing. */
struct table {
    uint32_t *slot;
    uint64_t n_slots, mask; /* that there is room for, and of those in use */
    uint64_t base, end;
};

/* Long before so many steps, half of the slots being empty, something is wrong with the keys. */
enum { STEPS = 256, ANY_STEPS = INT32_MAX, SPARSE = 2048 };

/* Start with no entry and room for `n`, in `width` slots, or in so many that half of them remain
 * empty. 0 if there is no memory. */
static int start(struct table *table, uint64_t n, uint64_t width) {
    uint64_t n_slots = width ? width : 16;
    while (!width && n <= UINT32_MAX && (n_slots < 2 * n || (n_slots < 4 * n && n_slots < SPARSE)))
        n_slots *= 2;
    if (n > UINT32_MAX || n_slots > SIZE_MAX / sizeof *table->slot)
        return 0;
    table->base = table->end;
    if (n_slots > table->n_slots) {
        free(table->slot);
        table->slot = calloc((size_t)n_slots, sizeof *table->slot);
        table->n_slots = table->slot == NULL ? 0 : n_slots;
        table->base = 0;
    } else if (n > UINT32_MAX - table->base) {
        memset(table->slot, 0, (size_t)table->n_slots * sizeof *table->slot);
        table->base = 0;
    }
    table->end = table->base + n;
    table->mask = n_slots - 1;
    return table->slot != NULL;
}

static inline int is_empty(const struct table *table, int64_t slot) {
    return table->slot[slot] <= table->base;
}

static inline uint64_t entry_at(const struct table *table, int64_t slot) {
    return table->slot[slot] - table->base - 1;
}

static inline void enter(struct table *table, int64_t slot, uint64_t entry) {
    table->slot[slot] = (uint32_t)(table->base + entry + 1);
}

/* Whether an entry is the one that is sought, whose key it has; RAISED after an error. */
typedef int is_sought(const void *sought, uint64_t entry);

static inline uint64_t hash_of_key(uint64_t key) {
    return folded(key ^ SEED[0], SEED[1]);
}

/* The slot that a key has or would have; NO if that takes too many steps, RAISED after an error.
 * The keys of the entries have 64 bits each, at some distance; equal ones are the same entry if
 * nothing else decides. */
static inline int64_t find(const struct table *table, const void *keys, size_t distance,
                           uint64_t key, uint64_t hash, int most, is_sought *is,
                           const void *sought) {
    uint64_t slot = hash & table->mask;
    for (int step = 0; step < most; step++, slot = (slot + 1) & table->mask) {
        if (is_empty(table, (int64_t)slot))
            return (int64_t)slot;
        uint64_t other, entry = entry_at(table, (int64_t)slot);
        memcpy(&other, (const byte *)keys + entry * distance, sizeof other);
        if (other != key)
            continue;
        int same = is == NULL ? 1 : is(sought, entry);
        if (same)
            return same < 0 ? RAISED : (int64_t)slot;
    }
    return NO;
}

/* ---- Rows by user ---- */

/* Where the rows of each user are: by position, in an order if they are not side by side. */
struct groups {
    const int32_t *order; /* NULL if the rows are by user */
    const int64_t *begin; /* n_users + 1 */
    Py_ssize_t n_users, n_rows, longest;
};

/* The groups of all rows or of some users; 0 if the arrays do not fit together. */
static int groups_of(const Py_buffer *order, const Py_buffer *begin, Py_ssize_t n_rows,
                     struct groups *groups) {
    *groups = (struct groups){order->buf, begin->buf, size(begin) - 1, n_rows, 0};
    if (groups->n_users < 0 || (order->buf && order->len / 4 != n_rows))
        return 0;
    for (Py_ssize_t user = 0; user < groups->n_users; user++) {
        int64_t length = groups->begin[user + 1] - groups->begin[user];
        if (length < 0)
            return 0;
        groups->longest = length > groups->longest ? (Py_ssize_t)length : groups->longest;
    }
    return groups->begin[0] >= 0 && groups->begin[groups->n_users] <= n_rows;
}

/* The numbers of the rows at some positions: in place if they are side by side. NULL if the
 * order names a row that is not there. */
static const void *side_by_side(const struct groups *groups, const void *numbers, int64_t from,
                                int64_t to, void *space) {
    const uint64_t *number = numbers;
    uint64_t *copy = space;
    if (groups->order == NULL)
        return number + from;
    for (int64_t i = from; i < to; i++) {
        uint64_t at = (uint64_t)groups->order[i]; /* huge if negative */
        if (at >= (uint64_t)groups->n_rows)
            return NULL;
        copy[i - from] = number[at];
    }
    return space;
}

static const char GROUP[] =
    "group(user, order, offsets)\n--\n\n"
    "Write where the rows of each user begin in their order by user, and this order, in which those\n"
    "of a user stay in theirs. Return whether the rows are in it; the order is not written then.";

static Py_ssize_t group_rows(const int64_t *user, Py_ssize_t n, int32_t *order, int64_t *begin,
                             Py_ssize_t n_users) {
    int ascending = 1;
    int64_t before = 0;
    memset(begin, 0, (size_t)(n_users + 1) * sizeof *begin);
    for (Py_ssize_t i = 0; i < n; i++) {
        if ((uint64_t)user[i] >= (uint64_t)n_users)
            return UNFIT;
        begin[user[i] + 1]++;
        ascending &= before <= user[i];
        before = user[i];
    }
    for (Py_ssize_t i = 0; i < n_users; i++)
        begin[i + 1] += begin[i];
    if (ascending)
        return 1;
    /* The begin of a user moves to the end, which is the begin of the next one. */
    for (Py_ssize_t i = 0; i < n; i++)
        order[begin[user[i]]++] = (int32_t)i;
    memmove(begin + 1, begin, (size_t)n_users * sizeof *begin);
    begin[0] = 0;
    return 0;
}

static PyObject *group(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    Py_buffer views[3];
    if (take(args, n_args, 3, views, 3, 6) < 0)
        return NULL;
    Py_ssize_t n = size(&views[0]), n_users = size(&views[2]) - 1, outcome = UNFIT;
    if (views[1].len / 4 == n && n <= INT32_MAX && n_users >= 0) {
        Py_BEGIN_ALLOW_THREADS
        outcome = group_rows(views[0].buf, n, views[1].buf, views[2].buf, n_users);
        Py_END_ALLOW_THREADS
    }
    return answer(outcome, views, 3);
}

static const char MATCH[] =
    "match(item, order, offsets, wanted, wanted_order, wanted_offsets, row, judgment, low, width)\n"
    "--\n\n"
    "Write the row and the judgment of each pair of user and item that is in both. Return how many\n"
    "there are, or -1 if a pair is repeated among the rows, or its ids are odd. An order is None if\n"
    "rows are by user. Items are numbers from `low` on, `width` of them, or any if that is 0.\n"
    "The offsets may be those of some users, side by side, with room for their judgments alone.";

/* The rows of the current user, by item: by number if `width` is not 0. */
struct seen {
    struct table table;
    uint64_t low, width;
    const uint64_t *item;
};

/* The slot of an item; UNFIT if it is not one of the numbers. */
static inline int64_t slot_of(const struct seen *seen, uint64_t item) {
    if (seen->width)
        return item - seen->low < seen->width ? (int64_t)(item - seen->low) : UNFIT;
    return find(&seen->table, seen->item, sizeof item, item, hash_of_key(item), STEPS, NULL, NULL);
}

static Py_ssize_t match_all(const struct groups *rows, const uint64_t *item,
                            const struct groups *judged, const uint64_t *wanted, int64_t *row,
                            int64_t *judgment, struct seen *seen, uint64_t *space) {
    Py_ssize_t n = 0;
    struct table *table = &seen->table;
    for (Py_ssize_t user = 0; user < rows->n_users; user++) {
        int64_t begin = rows->begin[user], length = rows->begin[user + 1] - begin, slot;
        seen->item = side_by_side(rows, item, begin, begin + length, space);
        if (seen->item == NULL)
            return UNFIT;
        if (!start(table, (uint64_t)length, seen->width))
            return NO_MEMORY;
        for (int64_t i = 0; i < length; i++) {
            if ((slot = slot_of(seen, seen->item[i])) < 0)
                return (Py_ssize_t)slot;
            if (!is_empty(table, slot))
                return NO;
            enter(table, slot, (uint64_t)i);
        }
        for (int64_t i = judged->begin[user]; i < judged->begin[user + 1]; i++) {
            int64_t at = judged->order ? judged->order[i] : i;
            if ((uint64_t)at >= (uint64_t)judged->n_rows)
                return UNFIT;
            if ((slot = slot_of(seen, wanted[at])) < 0)
                return (Py_ssize_t)slot;
            if (!is_empty(table, slot)) {
                int64_t place = begin + (int64_t)entry_at(table, slot);
                row[n] = rows->order ? rows->order[place] : place;
                judgment[n++] = at;
            }
        }
    }
    return n;
}

static PyObject *match(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    enum { ITEM, ORDER, OFFSETS, WANTED, WANTED_ORDER, WANTED_OFFSETS, ROW, JUDGMENT, ARRAYS };
    Py_buffer views[ARRAYS];
    if (take(args, n_args, ARRAYS + 2, views, ARRAYS, 1 << ROW | 1 << JUDGMENT) < 0)
        return NULL;
    struct seen seen = {0};
    seen.low = PyLong_AsUnsignedLongLongMask(args[ARRAYS]);
    seen.width = PyLong_AsUnsignedLongLongMask(args[ARRAYS + 1]);
    struct groups rows, judged;
    Py_ssize_t outcome = UNFIT, n_judged = size(&views[WANTED]);
    if (PyErr_Occurred())
        outcome = RAISED;
    else if (groups_of(&views[ORDER], &views[OFFSETS], size(&views[ITEM]), &rows) &&
             groups_of(&views[WANTED_ORDER], &views[WANTED_OFFSETS], n_judged, &judged) &&
             rows.n_users == judged.n_users && size(&views[ROW]) == size(&views[JUDGMENT]) &&
             size(&views[ROW]) == judged.begin[judged.n_users] - judged.begin[0] &&
             seen.width <= UINT32_MAX) {
        uint64_t *space = malloc(((size_t)rows.longest + 1) * sizeof *space);
        Py_BEGIN_ALLOW_THREADS
        outcome = space == NULL ? NO_MEMORY
                                : match_all(&rows, views[ITEM].buf, &judged, views[WANTED].buf,
                                            views[ROW].buf, views[JUDGMENT].buf, &seen, space);
        Py_END_ALLOW_THREADS
        free(seen.table.slot);
        free(space);
    }
    return answer(outcome, views, ARRAYS);
}

/* ---- Counts ---- */

static const char COUNT[] =
    "count(value, order, offsets, user, wanted, above, upto)\n--\n\n"
    "Write for each wanted number of a user how many values of the user are below it, and how many\n"
    "at most it. The users of the numbers must ascend. The order is None if values are by user; then\n"
    "they may have 32 bits.\n"
    "Return 1 if all values of these users are finite, and otherwise 0.";

/* Compare numbers, or what begins with one. */
static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* How many of some ascending numbers are below a value, or are at most it. */
static inline Py_ssize_t below(const double *number, Py_ssize_t n, double value, int equal) {
    const double *from = number;
    if (n == 0)
        return 0;
    while (n > 1) {
        Py_ssize_t half = n / 2;
        from += (equal ? from[half - 1] <= value : from[half - 1] < value) * half; /* no branch */
        n -= half;
    }
    return from - number + (equal ? *from <= value : *from < value);
}

static int ascends(const double *value, Py_ssize_t n) {
    for (Py_ssize_t i = 1; i < n; i++)
        if (value[i - 1] > value[i])
            return 0;
    return 1;
}

WIDE static int64_t all_finite(const double *value, Py_ssize_t n) {
    int64_t n_finite = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        n_finite += fabs(value[i]) <= DBL_MAX;
    return n_finite == n;
}

WIDE static const double *widened(const float *value, Py_ssize_t n, double *space) {
    for (Py_ssize_t i = 0; i < n; i++)
        space[i] = value[i];
    return space;
}

struct targets {
    const double *wanted;
    int64_t *above, *upto;
    Py_ssize_t n;
};

/* One target after the other, each compared with every value. */
WIDE static void count_few(const double *value, Py_ssize_t n, const struct targets *targets) {
    for (Py_ssize_t i = 0; i < targets->n; i++) {
        double wanted = targets->wanted[i];
        int64_t above = 0, upto = 0;
        for (Py_ssize_t j = 0; j < n; j++) {
            above += value[j] < wanted;
            upto += value[j] <= wanted;
        }
        targets->above[i] = above;
        targets->upto[i] = upto;
    }
}

/* Whether all targets are numbers of 32 bits. */
static int are_narrow(const struct targets *targets) {
    for (Py_ssize_t i = 0; i < targets->n; i++)
        if ((double)(float)targets->wanted[i] != targets->wanted[i])
            return 0;
    return 1;
}

/* The same of values and targets of 32 bits, as they are, and whether all values are finite. */
WIDE static int64_t count_narrow(const float *value, Py_ssize_t n, const struct targets *targets) {
    Py_ssize_t n_finite = 0;
    memset(targets->above, 0, (size_t)targets->n * sizeof *targets->above);
    memset(targets->upto, 0, (size_t)targets->n * sizeof *targets->upto);
    for (Py_ssize_t from = 0; from < n; from += CACHED) {
        int size = (int)(n - from < CACHED ? n - from : CACHED), finite = 0;
        const float *own = value + from;
        for (Py_ssize_t i = 0; i < targets->n; i++) {
            float wanted = (float)targets->wanted[i];
            int above = 0, upto = 0;
            for (int j = 0; i == 0 && j < size; j++) { /* in one pass */
                finite += fabsf(own[j]) <= FLT_MAX;
                above += own[j] < wanted;
                upto += own[j] <= wanted;
            }
            for (int j = 0; i > 0 && j < size; j++) {
                above += own[j] < wanted;
                upto += own[j] <= wanted;
            }
            targets->above[i] += above;
            targets->upto[i] += upto;
        }
        n_finite += finite;
    }
    return n_finite == n;
}

/* One target, and whether all values are finite, in one pass. */
WIDE static int64_t count_one(const double *value, Py_ssize_t n, const struct targets *target) {
    double wanted = target->wanted[0];
    int64_t above = 0, upto = 0, n_finite = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        above += value[i] < wanted;
        upto += value[i] <= wanted;
        n_finite += fabs(value[i]) <= DBL_MAX;
    }
    target->above[0] = above;
    target->upto[0] = upto;
    return n_finite == n;
}

/* Values that ascend are looked up. */
static void count_sorted(const double *value, Py_ssize_t n, const struct targets *targets) {
    for (Py_ssize_t i = 0; i < targets->n; i++) {
        double wanted = targets->wanted[i];
        Py_ssize_t above = below(value, n, wanted, 0);
        Py_ssize_t upto = above + (above < n && value[above] == wanted);
        if (upto < n && value[upto] == wanted)
            upto += below(value + upto, n - upto, wanted, 1);
        targets->above[i] = above;
        targets->upto[i] = upto;
    }
}

static Py_ssize_t count_all(const struct groups *rows, const Py_buffer *value, const int64_t *user,
                            const struct targets *every, double *space) {
    int64_t finite = 1;
    for (Py_ssize_t first = 0, last; first < every->n; first = last) {
        for (last = first + 1; last < every->n && user[last] == user[first];)
            last++;
        if ((uint64_t)user[first] >= (uint64_t)rows->n_users ||
            (last < every->n && user[last] < user[first]))
            return UNFIT;
        int64_t begin = rows->begin[user[first]], n = rows->begin[user[first] + 1] - begin;
        struct targets targets = {every->wanted + first, every->above + first, every->upto + first,
                                  last - first};
        const float *narrow = value->itemsize == sizeof(float) ? (float *)value->buf + begin : NULL;
        if (narrow != NULL && targets.n <= MANY && are_narrow(&targets)) {
            finite &= count_narrow(narrow, n, &targets);
            continue;
        }
        const double *own = narrow != NULL
                                ? widened(narrow, n, space)
                                : side_by_side(rows, value->buf, begin, begin + n, space);
        if (own == NULL)
            return UNFIT;
        int sorted = ascends(own, n);
        if (!sorted && targets.n == 1) {
            finite &= count_one(own, n, &targets);
            continue;
        }
        finite &= all_finite(own, n);
        if (!sorted && targets.n > MANY) {
            memmove(space, own, (size_t)n * sizeof *own);
            qsort(space, (size_t)n, sizeof *space, compare);
            own = space;
        }
        if (sorted || targets.n > MANY)
            count_sorted(own, n, &targets);
        else
            count_few(own, n, &targets);
    }
    return (Py_ssize_t)finite;
}

static PyObject *count(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    enum { VALUE, ORDER, OFFSETS, USER, WANTED, ABOVE, UPTO, ARRAYS };
    Py_buffer views[ARRAYS];
    if (take(args, n_args, ARRAYS, views, ARRAYS, 1 << ABOVE | 1 << UPTO) < 0)
        return NULL;
    struct groups rows;
    Py_ssize_t outcome = UNFIT, n = size(&views[USER]);
    int narrow = views[VALUE].itemsize == sizeof(float);
    Py_ssize_t n_values = narrow ? views[VALUE].len / 4 : size(&views[VALUE]);
    if (groups_of(&views[ORDER], &views[OFFSETS], n_values, &rows) && !(narrow && rows.order) &&
        size(&views[WANTED]) == n && size(&views[ABOVE]) == n && size(&views[UPTO]) == n) {
        struct targets every = {views[WANTED].buf, views[ABOVE].buf, views[UPTO].buf, n};
        double *space = malloc(((size_t)rows.longest + 1) * sizeof *space);
        Py_BEGIN_ALLOW_THREADS
        outcome = space == NULL
                      ? NO_MEMORY
                      : count_all(&rows, &views[VALUE], views[USER].buf, &every, space);
        Py_END_ALLOW_THREADS
        free(space);
    }
    return answer(outcome, views, ARRAYS);
}

static const char SORT[] =
    "sort(user, rank, order)\n--\n\n"
    "Write positions by user and rank; users ascend. Return whether the ranks of each user differ.";

struct ranked {
    double rank;
    int64_t at;
};

static void sort_ranks(struct ranked *ranked, Py_ssize_t n) {
    if (n > SHORT)
        qsort(ranked, (size_t)n, sizeof *ranked, compare);
    for (Py_ssize_t i = 1; n <= SHORT && i < n; i++) {
        struct ranked one = ranked[i];
        Py_ssize_t at = i;
        for (; at > 0 && ranked[at - 1].rank > one.rank; at--)
            ranked[at] = ranked[at - 1];
        ranked[at] = one;
    }
}

static Py_ssize_t sort_all(const int64_t *user, const double *rank, int64_t *order, Py_ssize_t n,
                           struct ranked *ranked) {
    for (Py_ssize_t first = 0, last; first < n; first = last) {
        for (last = first; last < n && user[last] == user[first]; last++)
            ranked[last - first] = (struct ranked){rank[last], last};
        if (last < n && user[last] < user[first])
            return UNFIT;
        sort_ranks(ranked, last - first);
        for (Py_ssize_t i = first; i < last; i++) {
            order[i] = ranked[i - first].at;
            if (i > first && ranked[i - first].rank == ranked[i - first - 1].rank)
                return 0;
        }
    }
    return 1;
}

static PyObject *sort(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    Py_buffer views[3];
    if (take(args, n_args, 3, views, 3, 4) < 0)
        return NULL;
    Py_ssize_t n = size(&views[0]), outcome = UNFIT;
    if (size(&views[1]) == n && size(&views[2]) == n) {
        struct ranked *ranked = malloc(((size_t)n + 1) * sizeof *ranked);
        Py_BEGIN_ALLOW_THREADS
        outcome = ranked == NULL ? NO_MEMORY
                                 : sort_all(views[0].buf, views[1].buf, views[2].buf, n, ranked);
        Py_END_ALLOW_THREADS
        free(ranked);
    }
    return answer(outcome, views, 3);
}

/* ---- Dictionaries and lists ---- */

enum kind { CLOSER_LOOK, TEXT, WHOLE };

/* The stable ABI has functions where the headers of one version of Python have macros. */
#ifdef Py_LIMITED_API
#define ITEM PyList_GetItem
#define FLOAT PyFloat_AsDouble
#define IS_ASCII(text) 0
#else
#define ITEM PyList_GET_ITEM
#define FLOAT PyFloat_AS_DOUBLE
#define IS_ASCII PyUnicode_IS_ASCII
#endif

/* The kind of an id, if its hash is that of the plain value. */
static enum kind kind_of(PyObject *id) {
    if (PyUnicode_CheckExact(id)) {
        if (IS_ASCII(id) || PyUnicode_AsUTF8AndSize(id, NULL) != NULL)
            return TEXT;
        PyErr_Clear(); /* half of a surrogate pair */
    } else if (PyLong_CheckExact(id)) {
        int overflow;
        PyLong_AsLongLongAndOverflow(id, &overflow);
        return overflow ? CLOSER_LOOK : WHOLE;
    }
    return CLOSER_LOOK;
}

/* A float or an integer as a float; NaN if it is neither, or an integer that no float holds. */
static double number_of(PyObject *value) {
    if (PyFloat_CheckExact(value))
        return FLOAT(value);
    if (PyLong_CheckExact(value)) {
        int overflow;
        double number = (double)PyLong_AsLongLongAndOverflow(value, &overflow);
        if (!overflow && -EXACT < number && number < EXACT)
            return number;
    }
    return NAN;
}

/* Objects of a list, from a place on, by hash. */
struct objects {
    struct table table;
    PyObject *list, *sought;
    Py_ssize_t from, room;
    uint64_t *hash; /* of each */
};

static int is_same_object(const void *all, uint64_t entry) {
    const struct objects *objects = all;
    PyObject *other = ITEM(objects->list, objects->from + (Py_ssize_t)entry);
    if (other == objects->sought)
        return 1;
    int same = other == NULL ? -1 : PyObject_RichCompareBool(other, objects->sought, Py_EQ);
    return same < 0 ? RAISED : same;
}

/* The slot that the object at some place of a list has, or would have, and its hash. */
static int64_t slot_of_object(struct objects *objects, PyObject *list, Py_ssize_t at,
                              uint64_t *hash, int most) {
    PyObject *one = objects->sought = ITEM(list, at);
    Py_hash_t its = one == NULL ? -1 : PyObject_Hash(one);
    *hash = (uint64_t)its;
    if (its == -1)
        return RAISED;
    return find(&objects->table, objects->hash, sizeof *hash, *hash, hash_of_key(*hash), most,
                is_same_object, objects);
}

/* Enter the objects of a list from one place to another: how many there are before one occurs
 * twice, or needs too many steps. */
static Py_ssize_t enter_objects(struct objects *objects, PyObject *list, Py_ssize_t from,
                                Py_ssize_t to, int most) {
    Py_ssize_t n = to - from;
    if (n > objects->room) {
        free(objects->hash);
        objects->room = 2 * n;
        objects->hash = malloc((size_t)objects->room * sizeof *objects->hash);
    }
    if (!start(&objects->table, (uint64_t)n, 0) || (n > 0 && objects->hash == NULL))
        return NO_MEMORY;
    objects->list = list;
    objects->from = from;
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t slot = slot_of_object(objects, list, from + i, &objects->hash[i], most);
        if (slot < 0 || !is_empty(&objects->table, slot))
            return slot == RAISED ? RAISED : i;
        enter(&objects->table, slot, (uint64_t)i);
    }
    return n;
}

static void discard(struct objects *objects) {
    free(objects->table.slot);
    free(objects->hash);
}

static const char READ[] =
    "read(numbers, containers)\n--\n\n"
    "Write the numbers of dicts into an array of float64, one dict after the other. Return 1 if all\n"
    "items of dicts, lists or sets are text, 2 if all are integers of 64 bits, and 0 if any item or\n"
    "number needs a closer look, or any item is twice in a list.";

/* Read an item of a container: 1 if it is plain and of the kind of all others, 0 if not. */
static int read_item(PyObject *item, enum kind *all) {
    enum kind kind = kind_of(item);
    int plain = kind != CLOSER_LOOK && (*all == CLOSER_LOOK || kind == *all);
    *all = kind;
    return plain;
}

static Py_ssize_t read_dict(PyObject *dict, double **number, const double *end, enum kind *all) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    /* PyDict_Next does not follow an order of its own that a subclass has, such as OrderedDict. */
    if (PyType_GetSlot(Py_TYPE(dict), Py_tp_iter) != PyType_GetSlot(&PyDict_Type, Py_tp_iter) ||
        PyDict_Size(dict) > end - *number)
        return 0;
    while (PyDict_Next(dict, &position, &key, &value)) {
        **number = number_of(value);
        if (!read_item(key, all) || isnan(**number))
            return 0;
        ++*number;
    }
    return 1;
}

static Py_ssize_t read_list(PyObject *container, struct objects *objects, enum kind *all) {
    PyObject *list = PySequence_Fast(container, "expected lists, sets or dicts");
    if (list == NULL)
        return RAISED;
    Py_ssize_t n = PyList_Check(list) ? PyList_Size(list) : 0, plain = PyList_Check(list);
    for (Py_ssize_t i = 0; plain == 1 && i < n; i++)
        plain = read_item(ITEM(list, i), all);
    if (plain == 1 && !PyAnySet_Check(container)) {
        Py_ssize_t different = enter_objects(objects, list, 0, n, STEPS);
        plain = different < 0 ? different : different == n;
    }
    Py_DECREF(list);
    return plain;
}

static PyObject *read_all(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    Py_buffer numbers;
    if (take(args, n_args, 2, &numbers, 1, 1) < 0)
        return NULL;
    double *number = numbers.buf, *end = number == NULL ? NULL : number + size(&numbers);
    struct objects objects = {0};
    enum kind all = CLOSER_LOOK;
    Py_ssize_t n = PyList_Size(args[1]), plain = n < 0 ? RAISED : 1;
    for (Py_ssize_t i = 0; plain == 1 && i < n; i++) {
        PyObject *one = ITEM(args[1], i);
        plain =
            PyDict_Check(one) ? read_dict(one, &number, end, &all) : read_list(one, &objects, &all);
    }
    discard(&objects);
    return answer(plain < 1 ? plain : number == end ? (Py_ssize_t)all : 0, &numbers, 1);
}

static const char FIND[] =
    "find(at, found, containers, items)\n--\n\n"
    "Write the number of each of the items in the dict `at`, or its place in that list, into float64\n"
    "numbers; NaN where it is not there. All items of a list follow one another.";

static Py_ssize_t find_in_dict(PyObject *dict, PyObject *items, Py_ssize_t from, Py_ssize_t to,
                               double *found) {
    for (Py_ssize_t i = from; i < to; i++) {
        PyObject *item = ITEM(items, i);
        PyObject *value = item == NULL ? NULL : PyDict_GetItemWithError(dict, item);
        found[i] = value == NULL ? NAN : PyFloat_AsDouble(value);
        if ((value == NULL || found[i] == -1.0) && PyErr_Occurred())
            return RAISED;
    }
    return to - from;
}

/* Find items in a list: how many there are before one that is repeated. */
static Py_ssize_t find_in_list(struct objects *objects, PyObject *list, PyObject *items,
                               Py_ssize_t from, Py_ssize_t to, double *found) {
    uint64_t hash;
    Py_ssize_t n = enter_objects(objects, items, from, to, ANY_STEPS);
    for (Py_ssize_t i = 0; i < n; i++)
        found[from + i] = NAN;
    for (Py_ssize_t place = 0; n > 0 && place < PyList_Size(list); place++) {
        int64_t slot = slot_of_object(objects, list, place, &hash, ANY_STEPS);
        if (slot < 0)
            return RAISED;
        if (!is_empty(&objects->table, slot))
            found[from + (Py_ssize_t)entry_at(&objects->table, slot)] = (double)place;
    }
    return n;
}

static PyObject *find_all(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    Py_buffer views[2];
    if (take(args, n_args, 4, views, 2, 2) < 0)
        return NULL;
    const int64_t *at = views[0].buf;
    double *found = views[1].buf;
    struct objects objects = {0};
    Py_ssize_t n = size(&views[0]), n_containers = PyList_Size(args[2]), outcome = 0;
    if (size(&views[1]) != n || PyList_Size(args[3]) != n || n_containers < 0)
        outcome = PyErr_Occurred() ? RAISED : UNFIT;
    for (Py_ssize_t from = 0, to; from < n && outcome >= 0; from += outcome) {
        for (to = from + 1; to < n && at[to] == at[from];)
            to++;
        int inside = 0 <= at[from] && at[from] < n_containers;
        PyObject *one = inside ? ITEM(args[2], (Py_ssize_t)at[from]) : NULL;
        outcome = one == NULL          ? UNFIT
                  : PyDict_Check(one)  ? find_in_dict(one, args[3], from, to, found)
                  : !PyList_Check(one) ? UNFIT
                                       : find_in_list(&objects, one, args[3], from, to, found);
    }
    discard(&objects);
    return answer(outcome < 0 ? outcome : 0, views, 2);
}

/* ---- Ids in bytes ---- */

#define EACH(value) (UINT64_C(0x0101010101010101) * (value))

/* Where an id is in a content, and its hash. `SPAN` in `_spans.py` has the same fields. */
struct span {
    int64_t start;
    uint32_t size; /* this and the hash are the key of an id */
    uint32_t hash;
};

struct content {
    const byte *start, *end;
};

static struct content content_of(const Py_buffer *buffer) {
    return (struct content){buffer->buf, (const byte *)buffer->buf + buffer->len};
}

/* Eight bytes, the first of them lowest. */
static uint64_t word_at(const byte *p) {
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

/* Up to eight bytes, which are followed by others up to the end of the content. */
static uint64_t part_at(const byte *p, size_t size, const byte *end) {
    if (end - p >= 8)
        return size < 8 ? word_at(p) & ((UINT64_C(1) << 8 * size) - 1) : word_at(p);
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)p[i] << 8 * i;
    return word;
}

/* The hash of some bytes of a content. */
static uint32_t hash_of(const byte *p, size_t size, const byte *end) {
    uint64_t hash = SEED[0] ^ size;
    while (size > 0) {
        size_t n = size < 8 ? size : 8;
        hash = folded(hash ^ part_at(p, n, end), SEED[1]);
        p += n;
        size -= n;
    }
    return (uint32_t)hash;
}

static int is_inside(const struct span *one, struct content text) {
    int64_t size = text.end - text.start;
    return 0 <= one->start && one->start <= size && one->size <= size - one->start;
}

/* An id of one content that is sought among those of another. */
struct id {
    const struct span *one, *others;
    struct content text, their_text;
};

static int is_same_id(const void *sought, uint64_t entry) {
    const struct id *id = sought;
    const struct span *other = &id->others[entry];
    return is_inside(id->one, id->text) && is_inside(other, id->their_text) &&
           memcmp(id->text.start + id->one->start, id->their_text.start + other->start,
                  id->one->size) == 0;
}

static inline int64_t slot_of_id(const struct table *table, const struct id *id, int most) {
    uint64_t key;
    memcpy(&key, &id->one->size, sizeof key);
    return find(table, &id->others->size, sizeof *id->others, key, id->one->hash, most, is_same_id,
                id);
}

/* Enter ids: how many there are before one occurs twice, or needs too many steps. */
static Py_ssize_t enter_ids(struct table *table, const struct span *ids, Py_ssize_t n,
                            struct content text, int most) {
    struct id id = {NULL, ids, text, text};
    if (!start(table, (uint64_t)n, 0))
        return NO_MEMORY;
    for (Py_ssize_t i = 0; i < n; i++) {
        id.one = &ids[i];
        int64_t slot = slot_of_id(table, &id, most);
        if (slot < 0 || !is_empty(table, slot))
            return i;
        enter(table, slot, (uint64_t)i);
    }
    return n;
}

static const char GATHER[] = "gather(content, ids)\n--\n\n"
                             "Return the ids, each followed by the end of a line.";

static PyObject *gather(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    Py_buffer views[2];
    if (take(args, n_args, 2, views, 2, 0) < 0)
        return NULL;
    struct content text = content_of(&views[0]);
    const struct span *ids = views[1].buf;
    Py_ssize_t n = views[1].len / (Py_ssize_t)sizeof *ids, i = 0, length = 0;
    for (; i < n && is_inside(&ids[i], text) && length < PY_SSIZE_T_MAX - UINT32_MAX - 1; i++)
        length += (Py_ssize_t)ids[i].size + 1;
    if (i < n)
        return answer(UNFIT, views, 2);
    PyObject *result = PyBytes_FromStringAndSize(NULL, length);
    char *to = result == NULL ? NULL : PyBytes_AsString(result);
    for (i = 0; i < n && to != NULL; i++) {
        if (ids[i].size > 0) /* else the content may be NULL */
            memcpy(to, text.start + ids[i].start, ids[i].size);
        to += ids[i].size;
        *to++ = '\n';
    }
    Py_XDECREF(answer(0, views, 2));
    return result;
}

static const char FIND_IN_LINES[] =
    "find_in_lines(content, items, numbers, offsets, at, others, sought, found)\n--\n\n"
    "Write the number of each sought id in the list `at`, which ascends; NaN where it is not there.\n"
    "The list begins and ends at the `offsets` of the items. The content of the ids is `others`.";

/* Find ids, which get their hashes, in a list of items, where they get their numbers: how many
 * there are before one that is repeated. */
static Py_ssize_t find_ids(struct table *table, struct span *ids, Py_ssize_t n,
                           struct content others, const struct span *items, int64_t n_items,
                           struct content text, const double *number, double *found) {
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!is_inside(&ids[i], others))
            return UNFIT;
        ids[i].hash = hash_of(others.start + ids[i].start, ids[i].size, others.end);
        found[i] = NAN;
    }
    struct id id = {NULL, ids, text, others};
    n = enter_ids(table, ids, n, others, ANY_STEPS);
    for (int64_t line = 0; line < n_items && n > 0; line++) {
        id.one = &items[line];
        int64_t slot = slot_of_id(table, &id, ANY_STEPS);
        if (!is_empty(table, slot))
            found[entry_at(table, slot)] = number[line];
    }
    return n;
}

static PyObject *find_in_lines(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    enum { CONTENT, ITEMS, NUMBERS, OFFSETS, AT, OTHERS, SOUGHT, FOUND, ARRAYS };
    Py_buffer views[ARRAYS];
    if (take(args, n_args, ARRAYS, views, ARRAYS, 1 << FOUND) < 0)
        return NULL;
    const int64_t *offset = views[OFFSETS].buf, *at = views[AT].buf;
    const struct span *items = views[ITEMS].buf;
    const double *numbers = views[NUMBERS].buf;
    double *found = views[FOUND].buf;
    struct content text = content_of(&views[CONTENT]), others = content_of(&views[OTHERS]);
    Py_ssize_t n_items = size(&views[NUMBERS]), n_lists = size(&views[OFFSETS]) - 1;
    Py_ssize_t n = size(&views[AT]), outcome = 0, each = sizeof *items;
    struct table table = {0};
    /* Hashes are others in another process. */
    if (views[ITEMS].len != n_items * each || views[SOUGHT].len != n * each ||
        size(&views[FOUND]) != n ||
        (n_items > 0 && (!is_inside(items, text) ||
                         items->hash != hash_of(text.start + items->start, items->size, text.end))))
        return answer(UNFIT, views, ARRAYS);
    struct span *sought = malloc((size_t)(n + 1) * sizeof *sought);
    if (sought == NULL)
        return answer(NO_MEMORY, views, ARRAYS);
    Py_BEGIN_ALLOW_THREADS
    if (n > 0)
        memcpy(sought, views[SOUGHT].buf, (size_t)n * sizeof *sought);
    for (Py_ssize_t from = 0, to; from < n && outcome >= 0; from += outcome) {
        int64_t list = at[from], last = list + 1;
        for (to = from; to < n && at[to] == list;)
            to++;
        outcome = UNFIT;
        if (0 <= list && list < n_lists && 0 <= offset[list] && offset[last] <= n_items)
            outcome =
                find_ids(&table, sought + from, to - from, others, items + offset[list],
                         offset[last] - offset[list], text, numbers + offset[list], found + from);
    }
    free(table.slot);
    free(sought);
    Py_END_ALLOW_THREADS
    return answer(outcome < 0 ? outcome : 0, views, ARRAYS);
}

/* ---- Lines of TREC files ---- */

struct field {
    const byte *start, *end;
};

/* Where the first white space or control character is. */
static const byte *end_of_field(const byte *p, const byte *end) {
    for (; end - p >= 8; p += 8) {
        uint64_t word = word_at(p);
        uint64_t low = ((word - EACH(' ' + 1)) & ~word & EACH(0x80)) >> 7;
        if (low != 0) /* its lowest bit is that of the first such byte */
            return p + ((((low - 1) & ~low & EACH(1)) * EACH(1)) >> 56);
    }
    while (p < end && *p > ' ')
        p++;
    return p;
}

static const byte *skip_blanks(const byte *p, const byte *end) {
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

enum { TENS = 22, LONGEST = 100, FIELDS = 8 };

static const double TEN[TENS + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* digits * 10**exponent, correctly rounded; NaN if that takes more than one operation. */
static double scaled(uint64_t digits, long exponent) {
    long power = exponent < 0 ? -exponent : exponent;
    if (power > TENS)
        return digits == 0 ? 0.0 : NAN;
    /* Both have a float, and one operation on floats is correctly rounded. */
    if (FLT_EVAL_METHOD == 0 && digits <= (uint64_t)EXACT)
        return exponent < 0 ? (double)digits / TEN[power] : (double)digits * TEN[power];
#if LDBL_MANT_DIG >= 64
    /* Both have a longer float. The error of the operation is at most 2**-64 of the result, so that
     * the number is between two that have one float nearly always. */
    long double number = (long double)digits;
    number = exponent < 0 ? number / TEN[power] : number * TEN[power];
    double low = (double)(number - number * 0x1p-63L), high = (double)(number + number * 0x1p-63L);
    if (low == high)
        return low;
#endif
    return NAN;
}

/* Read digits after those that were read before; NULL if there are too many. */
static const byte *read_digits(const byte *p, const byte *end, uint64_t *digits) {
    uint64_t number = *digits;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        if (number > (UINT64_MAX - 9) / 10)
            return NULL;
        number = 10 * number + (uint64_t)(*p - '0');
    }
    *digits = number;
    return p;
}

/* The number that a field writes as a decimal number of few digits, or NaN. */
static double short_number(struct field field) {
    const byte *p = field.start, *end = field.end, *first, *point = NULL;
    uint64_t digits = 0, power = 0;
    int negative = *p == '-', down = 0;
    first = p += *p == '-' || *p == '+';
    p = read_digits(p, end, &digits);
    if (p != NULL && p < end && *p == '.') {
        point = ++p;
        p = read_digits(p, end, &digits);
    }
    if (p == NULL || p - first == (point != NULL)) /* no digit */
        return NAN;
    long exponent = point == NULL ? 0 : -(long)(p - point);
    if (end - p > 1 && (*p == 'e' || *p == 'E')) {
        down = *++p == '-';
        first = p += *p == '-' || *p == '+';
        p = read_digits(p, end, &power);
        if (p == first || power > 10000)
            return NAN;
        exponent += down ? -(long)power : (long)power;
    }
    double number = p == end ? scaled(digits, exponent) : NAN;
    return negative ? -number : number;
}

/* The number that a field writes in any way that Python reads; NaN if it needs a closer look.
 * Python is asked, by the thread that has this state. */
static double any_number(struct field field, PyThreadState **state) {
    char text[LONGEST + 1];
    size_t length = (size_t)(field.end - field.start);
    if (length > LONGEST)
        return NAN;
    memcpy(text, field.start, length);
    text[length] = '\0';
    if (strspn(text, "+-.0123456789eE") < length) /* inf, nan and the like */
        return NAN;
    PyEval_RestoreThread(*state);
    double number = PyOS_string_to_double(text, NULL, NULL);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        number = NAN;
    }
    *state = PyEval_SaveThread();
    return number;
}

/* Read the fields of a line and its end; NULL if it needs a closer look. */
static const byte *read_fields(const byte *p, const byte *end, struct field *field, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        field[i].start = skip_blanks(p, end);
        p = field[i].end = end_of_field(field[i].start, end);
        if (p == field[i].start || p - field[i].start > INT32_MAX)
            return NULL;
    }
    p = skip_blanks(p, end);
    if (p < end && *p == '\r' && end - p > 1)
        p++;
    return p == end ? p : *p == '\n' ? p + 1 : NULL;
}

/* How lines are read, and how far. */
struct progress {
    int64_t n_fields, number; /* of a line: the first is the topic, the third the item */
    int64_t last;             /* whether this piece is the last one */
    int64_t n, n_topics, used;
    int64_t tag; /* hash of that of the last line */
};

enum { RUN = 6 }; /* fields of a run, which has a rank and a tag */

/* The lines that were read, in arrays with room for all of a part, and the bytes of their ids. */
struct lines {
    struct progress *at;
    struct span *items, *topics;
    double *numbers;
    int32_t *ranks; /* of a run; -1 if it is not a number of few digits */
    int64_t *first; /* line of each topic */
    byte *kept;
    int64_t room;
    struct table table;
};

/* Keep a field of a content as an id. There is room: fields are parts of the content. */
static struct span keep(struct field field, const byte *end, struct lines *lines) {
    size_t size = (size_t)(field.end - field.start);
    struct span span = {lines->at->used, (uint32_t)size, hash_of(field.start, size, end)};
    memcpy(lines->kept + span.start, field.start, size);
    lines->at->used += (int64_t)size;
    return span;
}

/* End a topic, whose items must differ, and so must topics, looked at now and then: 1 if so. */
static Py_ssize_t end_topic(struct lines *lines) {
    const struct progress *at = lines->at;
    struct content ids = {lines->kept, lines->kept + at->used};
    if (at->n_topics == 0)
        return 1;
    Py_ssize_t first = (Py_ssize_t)lines->first[at->n_topics - 1], n = at->n - first;
    Py_ssize_t different = enter_ids(&lines->table, lines->items + first, n, ids, STEPS);
    if (different == n && at->n_topics >= 1024 && (at->n_topics & (at->n_topics - 1)) == 0) {
        n = (Py_ssize_t)at->n_topics;
        different = enter_ids(&lines->table, lines->topics, n, ids, STEPS);
    }
    return different < 0 ? different : different == n ? 1 : NO;
}

/* Whether the second field of a judgment is 0 or Q0, which say nothing. */
static int is_unused(struct field field) {
    Py_ssize_t size = field.end - field.start;
    return field.end[-1] == '0' && (size == 1 || (size == 2 && *field.start == 'Q'));
}

/* The number that a field writes in at most nine digits, or -1. */
static int32_t short_rank(struct field field) {
    int32_t rank = 0;
    if (field.end - field.start > 9)
        return -1;
    for (const byte *p = field.start; p < field.end; p++) {
        if (*p < '0' || *p > '9')
            return -1;
        rank = 10 * rank + (*p - '0');
    }
    return rank;
}

static int is_same_field(struct field one, struct field other) {
    size_t size = (size_t)(one.end - one.start);
    return size == (size_t)(other.end - other.start) && memcmp(one.start, other.start, size) == 0;
}

/* Read lines: 1 if all are plain, NO if not. */
static Py_ssize_t read_lines(struct content text, struct lines *lines, PyThreadState **state) {
    struct progress *at = lines->at;
    struct field field[FIELDS], tag = {NULL, NULL};
    const byte *p = text.start, *topic = NULL;
    size_t size = 0;
    if (at->n_topics > 0) {
        topic = lines->kept + lines->topics[at->n_topics - 1].start;
        size = lines->topics[at->n_topics - 1].size;
    }
    while (p < text.end) {
        if (*p == '\n') {
            p++;
            continue;
        }
        p = read_fields(p, text.end, field, at->n_fields);
        if (p == NULL || *field[0].start == '#' || at->n == lines->room)
            return NO;
        if (at->n_fields == 4 && !is_unused(field[1])) /* a subtopic */
            return NO;
        size_t length = (size_t)(field[0].end - field[0].start);
        if (topic == NULL || length != size || memcmp(topic, field[0].start, size) != 0) {
            Py_ssize_t outcome = end_topic(lines);
            if (outcome != 1)
                return outcome;
            lines->topics[at->n_topics] = keep(field[0], text.end, lines);
            lines->first[at->n_topics++] = at->n;
        } else if (at->n_fields == RUN) { /* of one run */
            if (tag.start == NULL
                    ? at->tag != hash_of(field[5].start, (size_t)(field[5].end - field[5].start),
                                         text.end)
                    : !is_same_field(tag, field[5]))
                return NO;
        }
        if (at->n_fields == RUN) {
            tag = field[5];
            lines->ranks[at->n] = short_rank(field[3]);
        }
        topic = field[0].start;
        size = length;
        double number = short_number(field[at->number]);
        if (isnan(number))
            number = any_number(field[at->number], state);
        if (!(-EXACT < number && number < EXACT))
            return NO;
        lines->numbers[at->n] = number;
        lines->items[at->n++] = keep(field[2], text.end, lines);
    }
    if (tag.start != NULL)
        at->tag = hash_of(tag.start, (size_t)(tag.end - tag.start), text.end);
    return at->last ? end_topic(lines) : 1;
}

static const char SCAN[] =
    "scan(piece, items, numbers, ranks, topics, first, kept, progress)\n--\n\n"
    "Read the lines of a piece, and return how many bytes were read; -1 if any line needs a closer\n"
    "look. A piece that is not the last one may end within a line, which is not read.\n\n"
    "Write the items, the numbers, the ranks of a run, the topics, the first line of each topic, "
    "and\nthe bytes of the ids. The progress is the number of fields, which of them is the number,\n"
    "whether the piece is the last one, how many lines, topics and bytes of ids there are, and the\n"
    "hash of the last tag; the last four are written, too.";

static PyObject *scan(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    enum { PIECE, ITEMS, NUMBERS, RANKS, TOPICS, FIRST, KEPT, PROGRESS, ARRAYS };
    Py_buffer views[ARRAYS];
    if (take(args, n_args, ARRAYS, views, ARRAYS, 254) < 0)
        return NULL;
    struct progress *at = views[PROGRESS].buf;
    struct content text = content_of(&views[PIECE]);
    Py_ssize_t room = size(&views[NUMBERS]), spans = room * (Py_ssize_t)sizeof(struct span);
    struct lines lines = {
        at,   views[ITEMS].buf, views[TOPICS].buf, views[NUMBERS].buf, NULL,
        NULL, NULL,             room,              {0}};
    lines.ranks = views[RANKS].buf;
    lines.first = views[FIRST].buf;
    lines.kept = views[KEPT].buf;
    if (views[PROGRESS].len != sizeof *at || views[ITEMS].len != spans ||
        views[TOPICS].len != spans || size(&views[FIRST]) != room || at->number < 3 ||
        at->number >= at->n_fields || at->n_fields > FIELDS || at->n < 0 || at->n > room ||
        at->n_topics < 0 || at->n_topics > at->n || at->used < 0 || at->used > views[KEPT].len ||
        views[PIECE].len > views[KEPT].len - at->used ||
        (at->n_fields == RUN && views[RANKS].len != room * (Py_ssize_t)sizeof(int32_t)))
        return answer(UNFIT, views, ARRAYS);
    while (!at->last && text.end > text.start && text.end[-1] != '\n')
        text.end--;
    PyThreadState *state = PyEval_SaveThread();
    Py_ssize_t outcome = read_lines(text, &lines, &state);
    free(lines.table.slot);
    PyEval_RestoreThread(state);
    return answer(outcome == 1 ? text.end - text.start : outcome, views, ARRAYS);
}

/* ---- The module ---- */

static int draw_seed(PyObject *module) {
    if (SEED[1] != 0) /* of another interpreter in this process */
        return 0;
    PyObject *os = PyImport_ImportModule("os");
    PyObject *bytes = os == NULL ? NULL : PyObject_CallMethod(os, "urandom", "i", (int)sizeof SEED);
    char *drawn = bytes == NULL ? NULL : PyBytes_AsString(bytes);
    if (drawn != NULL) {
        memcpy(SEED, drawn, sizeof SEED);
        SEED[1] |= 1;
    }
    Py_XDECREF(os);
    Py_XDECREF(bytes);
    return drawn == NULL ? -1 : 0;
}

#define FUNCTION(name, doc) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, doc}

static PyMethodDef METHODS[] = {
    FUNCTION(group, GROUP),
    FUNCTION(match, MATCH),
    FUNCTION(count, COUNT),
    FUNCTION(sort, SORT),
    {"read", (PyCFunction)(void (*)(void))read_all, METH_FASTCALL, READ},
    {"find", (PyCFunction)(void (*)(void))find_all, METH_FASTCALL, FIND},
    FUNCTION(gather, GATHER),
    FUNCTION(find_in_lines, FIND_IN_LINES),
    FUNCTION(scan, SCAN),
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot SLOTS[] = {
    {Py_mod_exec, draw_seed},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_USED}, /* dictionaries and lists are read without locks of their own */
#endif
    {0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "native", NULL, 0, METHODS, SLOTS, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_native(void) {
    return PyModuleDef_Init(&MODULE);
}
