/* Ranking rows of many users, grouped, matched with judgments and counted in a few passes.
 *
 * `packing.py`, `pairs.py` and `counts.py` do the same by sorting where this module was not
 * compiled. Every array has elements of 64 bits.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Compiled for several widths of vectors, of which the processor takes its best. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#define FEW 64 /* targets, each of which is compared with every row */
#else
#define WIDE
#define FEW 16
#endif

#define LARGEST UINT32_MAX /* rows to match, whose places are kept as 32 bits */
#define SHORT 32           /* numbers, which are sorted by insertion */

/* Where the rows of each user are: by position, in an order if they are not side by side. */
struct groups {
    const int64_t *order; /* NULL if the rows are by user */
    const int64_t *begin; /* n_users + 1 */
    Py_ssize_t n_users, n_rows;
};

/* The arrays among the arguments of a function; None is an array without elements. */
static int
arrays(PyObject *const *args, Py_ssize_t n, Py_buffer *views, unsigned written)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        int flags = written >> i & 1 ? PyBUF_WRITABLE : PyBUF_SIMPLE;
        if (args[i] == Py_None)
            memset(&views[i], 0, sizeof views[i]);
        else if (PyObject_GetBuffer(args[i], &views[i], flags) < 0) {
            while (i-- > 0)
                PyBuffer_Release(&views[i]);
            return -1;
        }
    }
    return 0;
}

static void
release(Py_buffer *views, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        PyBuffer_Release(&views[i]);
}

static Py_ssize_t
size(const Py_buffer *view)
{
    return view->len / 8;
}

/* The groups of some rows; -1 if the arrays do not fit together. */
static int
groups_of(const Py_buffer *order, const Py_buffer *begin, Py_ssize_t n_rows, struct groups *groups)
{
    *groups = (struct groups){order->buf, begin->buf, size(begin) - 1, n_rows};
    if (groups->n_users < 0 || (order->buf && size(order) != n_rows))
        return -1;
    for (Py_ssize_t user = 0; user < groups->n_users; user++)
        if (groups->begin[user] > groups->begin[user + 1])
            return -1;
    return groups->begin[0] != 0 || groups->begin[groups->n_users] != n_rows ? -1 : 0;
}

static Py_ssize_t
longest(const struct groups *groups)
{
    int64_t most = 0;
    for (Py_ssize_t user = 0; user < groups->n_users; user++) {
        int64_t length = groups->begin[user + 1] - groups->begin[user];
        most = length > most ? length : most;
    }
    return (Py_ssize_t)most;
}

/* The numbers of the rows at some positions: in place if they are side by side. NULL if the
 * order names a row that is not there. */
static const uint64_t *
side_by_side(const struct groups *groups, const uint64_t *number, int64_t from, int64_t to,
             uint64_t *space)
{
    if (groups->order == NULL)
        return number + from;
    for (int64_t i = from; i < to; i++) {
        uint64_t at = (uint64_t)groups->order[i];
        if (at >= (uint64_t)groups->n_rows)
            return NULL;
        space[i - from] = number[at];
    }
    return space;
}

static PyObject *
unfit(void)
{
    PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
    return NULL;
}

/* ---------------------------------------------------------------------------------------------- */

static const char GROUP[] =
    "group(user, order, offsets)\n--\n\n"
    "Write where the rows of each user begin in their order by user, and this order, in which the\n"
    "rows of a user stay in theirs. Return whether the rows are in it; the order is not written\n"
    "then.";

/* 1 if the rows are by user, 0 if not, -1 if there is no such user. */
static int
group_rows(const int64_t *user, Py_ssize_t n, int64_t *order, int64_t *begin, Py_ssize_t n_users)
{
    int ascending = 1;
    int64_t before = 0;
    memset(begin, 0, (size_t)(n_users + 1) * sizeof *begin);
    for (Py_ssize_t i = 0; i < n; i++) {
        if ((uint64_t)user[i] >= (uint64_t)n_users)
            return -1;
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
        order[begin[user[i]]++] = i;
    memmove(begin + 1, begin, (size_t)n_users * sizeof *begin);
    begin[0] = 0;
    return 0;
}

static PyObject *
group(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    Py_buffer views[3];
    int found = -1;
    if (n_args != 3)
        return unfit();
    if (arrays(args, 3, views, 6) < 0)
        return NULL;
    Py_ssize_t n = size(&views[0]), n_users = size(&views[2]) - 1;
    if (size(&views[1]) == n && n_users >= 0) {
        Py_BEGIN_ALLOW_THREADS
        found = group_rows(views[0].buf, n, views[1].buf, views[2].buf, n_users);
        Py_END_ALLOW_THREADS
    }
    release(views, 3);
    return found < 0 ? unfit() : PyBool_FromLong(found);
}

/* ---------------------------------------------------------------------------------------------- */

static const char MATCH[] =
    "match(item, order, offsets, wanted, wanted_order, wanted_offsets, row, judgment, low, width)\n"
    "--\n\n"
    "Write the row and the judgment of each pair of user and item that is in both. Return how many\n"
    "there are, or -1 if any pair is repeated among the rows. An order is None if rows are by user.\n"
    "Items are numbers from `low` to `low + width - 1`, or any numbers if `width` is 0.";

/* Where the rows of the current user are: their place plus one, by item or by a hash of it. */
struct seen {
    uint32_t *place;
    uint64_t low, width; /* of items that are places of their own; the width of others is 0 */
    int shift;           /* of hashes */
    uint64_t mask;
};

static inline uint64_t
slot_of(const struct seen *seen, uint64_t item)
{
    if (seen->width)
        return item - seen->low;
    item ^= item >> 32;
    return (item * UINT64_C(0x9E3779B97F4A7C15)) >> seen->shift;
}

/* The slot of an item, which is empty unless a row from `begin` on has the item. */
static inline uint64_t
find(const struct seen *seen, const uint64_t *mine, uint64_t begin, uint64_t item)
{
    uint64_t slot = slot_of(seen, item);
    while (seen->place[slot] > begin && mine[seen->place[slot] - 1 - begin] != item)
        slot = (slot + 1) & seen->mask;
    return slot;
}

static int
make_seen(struct seen *seen, uint64_t low, uint64_t width, Py_ssize_t most)
{
    size_t n = (size_t)width;
    *seen = (struct seen){NULL, low, width, 63, 1};
    if (width == 0) {
        while (seen->mask < 2 * (uint64_t)most) {
            seen->mask = 2 * seen->mask + 1;
            seen->shift--;
        }
        n = (size_t)seen->mask + 1;
    }
    seen->place = calloc(n, sizeof *seen->place);
    return seen->place == NULL ? -1 : 0;
}

/* The number of matches; -1 if a pair is repeated, -2 if the arrays do not fit together. */
static Py_ssize_t
match_all(const struct groups *rows, const uint64_t *item, const struct groups *judged,
          const uint64_t *wanted, int64_t *row, int64_t *judgment, struct seen *seen,
          uint64_t *space)
{
    Py_ssize_t n = 0;
    for (Py_ssize_t user = 0; user < rows->n_users; user++) {
        int64_t begin = rows->begin[user], end = rows->begin[user + 1];
        const uint64_t *mine = side_by_side(rows, item, begin, end, space);
        if (mine == NULL)
            return -2;
        for (int64_t i = begin; i < end; i++) {
            uint64_t one = mine[i - begin];
            if (seen->width && one - seen->low >= seen->width)
                return -2;
            uint64_t slot = find(seen, mine, (uint64_t)begin, one);
            if (seen->place[slot] > begin)
                return -1;
            seen->place[slot] = (uint32_t)(i + 1);
        }
        for (int64_t i = judged->begin[user]; i < judged->begin[user + 1]; i++) {
            int64_t at = judged->order ? judged->order[i] : i;
            if ((uint64_t)at >= (uint64_t)judged->n_rows)
                return -2;
            if (seen->width && wanted[at] - seen->low >= seen->width)
                return -2;
            int64_t place = seen->place[find(seen, mine, (uint64_t)begin, wanted[at])];
            if (place > begin) {
                row[n] = rows->order ? rows->order[place - 1] : place - 1;
                judgment[n++] = at;
            }
        }
    }
    return n;
}

static PyObject *
match(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    enum { ITEM, ORDER, OFFSETS, WANTED, WANTED_ORDER, WANTED_OFFSETS, ROW, JUDGMENT, ARRAYS };
    Py_buffer views[ARRAYS];
    if (n_args != ARRAYS + 2)
        return unfit();
    uint64_t low = PyLong_AsUnsignedLongLongMask(args[ARRAYS]);
    uint64_t width = PyLong_AsUnsignedLongLongMask(args[ARRAYS + 1]);
    if (PyErr_Occurred() || arrays(args, ARRAYS, views, 1 << ROW | 1 << JUDGMENT) < 0)
        return NULL;
    struct groups rows, judged;
    Py_ssize_t found = -2, n_judged = size(&views[WANTED]);
    if (groups_of(&views[ORDER], &views[OFFSETS], size(&views[ITEM]), &rows) == 0 &&
        groups_of(&views[WANTED_ORDER], &views[WANTED_OFFSETS], n_judged, &judged) == 0 &&
        rows.n_users == judged.n_users && size(&views[ROW]) == n_judged &&
        size(&views[JUDGMENT]) == n_judged && rows.n_rows <= LARGEST && width <= LARGEST) {
        Py_ssize_t most = longest(&rows);
        struct seen seen;
        uint64_t *space = malloc(((size_t)most + 1) * sizeof *space);
        found = make_seen(&seen, low, width, most) < 0 || space == NULL ? -3 : 0;
        if (found == 0) {
            Py_BEGIN_ALLOW_THREADS
            found = match_all(&rows, views[ITEM].buf, &judged, views[WANTED].buf, views[ROW].buf,
                              views[JUDGMENT].buf, &seen, space);
            Py_END_ALLOW_THREADS
        }
        free(seen.place);
        free(space);
    }
    release(views, ARRAYS);
    return found == -3 ? PyErr_NoMemory() : found == -2 ? unfit() : PyLong_FromSsize_t(found);
}

/* ---------------------------------------------------------------------------------------------- */

static const char COUNT[] =
    "count(value, order, offsets, user, wanted, above, upto)\n--\n\n"
    "Write for each wanted number of a user how many values of the user are below it, and how many\n"
    "are at most it. The users of the wanted numbers must ascend. The order is None if the values\n"
    "are by user.";

static int
compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void
sort(double *number, Py_ssize_t n)
{
    if (n > SHORT) {
        qsort(number, (size_t)n, sizeof *number, compare);
        return;
    }
    for (Py_ssize_t i = 1; i < n; i++) {
        double one = number[i];
        Py_ssize_t at = i;
        for (; at > 0 && number[at - 1] > one; at--)
            number[at] = number[at - 1];
        number[at] = one;
    }
}

/* How many of some ascending numbers are below a value. */
static inline Py_ssize_t
below(const double *number, Py_ssize_t n, double value)
{
    const double *from = number;
    if (n == 0)
        return 0;
    while (n > 1) {
        Py_ssize_t half = n / 2;
        from += (from[half - 1] < value) * half; /* without a branch */
        n -= half;
    }
    return from - number + (*from < value);
}

static int
ascends(const double *value, Py_ssize_t n)
{
    for (Py_ssize_t i = 1; i < n; i++)
        if (value[i - 1] > value[i])
            return 0;
    return 1;
}

struct counts {
    const double *wanted;
    int64_t *above, *upto;
    Py_ssize_t n;
};

/* One target after the other, each compared with every value. */
WIDE static void
count_few(const double *value, Py_ssize_t n, const struct counts *targets)
{
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

/* Values that ascend are looked up. */
static void
count_sorted(const double *value, Py_ssize_t n, const struct counts *targets)
{
    for (Py_ssize_t i = 0; i < targets->n; i++) {
        double wanted = targets->wanted[i];
        Py_ssize_t above = below(value, n, wanted), upto = above;
        while (upto < n && value[upto] == wanted && upto - above < 8)
            upto++;
        if (upto < n && value[upto] == wanted) { /* a long tie */
            Py_ssize_t end = n;
            while (upto < end) {
                Py_ssize_t middle = upto + (end - upto) / 2;
                if (value[middle] <= wanted)
                    upto = middle + 1;
                else
                    end = middle;
            }
        }
        targets->above[i] = above;
        targets->upto[i] = upto;
    }
}

/* The different targets are sorted, and each value is looked up among them. */
static void
count_many(const double *value, Py_ssize_t n, const struct counts *targets, double *cut,
           int64_t *under, int64_t *within)
{
    Py_ssize_t n_cuts = 0;
    memcpy(cut, targets->wanted, (size_t)targets->n * sizeof *cut);
    sort(cut, targets->n);
    for (Py_ssize_t i = 0; i < targets->n; i++)
        if (n_cuts == 0 || cut[n_cuts - 1] != cut[i])
            cut[n_cuts++] = cut[i];
    memset(under, 0, (size_t)(n_cuts + 1) * sizeof *under);
    memset(within, 0, (size_t)(n_cuts + 1) * sizeof *within);
    cut[n_cuts] = 0; /* compared, but never counted */
    for (Py_ssize_t j = 0; j < n; j++) {
        Py_ssize_t at = below(cut, n_cuts, value[j]);
        within[at]++;
        under[at + (at < n_cuts && cut[at] == value[j])]++;
    }
    for (Py_ssize_t i = 1; i < n_cuts; i++) {
        within[i] += within[i - 1];
        under[i] += under[i - 1];
    }
    for (Py_ssize_t i = 0; i < targets->n; i++) {
        Py_ssize_t at = below(cut, n_cuts, targets->wanted[i]);
        targets->above[i] = under[at];
        targets->upto[i] = within[at];
    }
}

/* -1 if the arrays do not fit together. */
static int
count_all(const struct groups *rows, const double *value, const int64_t *user, Py_ssize_t n,
          const struct counts *every, uint64_t *space, double *cut, int64_t *under, int64_t *within)
{
    for (Py_ssize_t first = 0, last; first < n; first = last) {
        for (last = first + 1; last < n && user[last] == user[first];)
            last++;
        if ((uint64_t)user[first] >= (uint64_t)rows->n_users ||
            (last < n && user[last] < user[first]))
            return -1;
        int64_t begin = rows->begin[user[first]], end = rows->begin[user[first] + 1];
        const double *mine = (const double *)side_by_side(rows, (const uint64_t *)value, begin, end,
                                                          space);
        if (mine == NULL)
            return -1;
        struct counts targets = {every->wanted + first, every->above + first, every->upto + first,
                                 last - first};
        if (ascends(mine, end - begin))
            count_sorted(mine, end - begin, &targets);
        else if (targets.n <= FEW)
            count_few(mine, end - begin, &targets);
        else
            count_many(mine, end - begin, &targets, cut, under, within);
    }
    return 0;
}

static PyObject *
count(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    enum { VALUE, ORDER, OFFSETS, USER, WANTED, ABOVE, UPTO, ARRAYS };
    Py_buffer views[ARRAYS];
    if (n_args != ARRAYS)
        return unfit();
    if (arrays(args, ARRAYS, views, 1 << ABOVE | 1 << UPTO) < 0)
        return NULL;
    struct groups rows;
    Py_ssize_t found = -2, n = size(&views[USER]);
    if (groups_of(&views[ORDER], &views[OFFSETS], size(&views[VALUE]), &rows) == 0 &&
        size(&views[WANTED]) == n && size(&views[ABOVE]) == n && size(&views[UPTO]) == n) {
        struct counts every = {views[WANTED].buf, views[ABOVE].buf, views[UPTO].buf, n};
        uint64_t *space = malloc(((size_t)longest(&rows) + 1) * sizeof *space);
        double *cut = malloc(((size_t)n + 1) * sizeof *cut);
        int64_t *under = malloc(((size_t)n + 1) * sizeof *under);
        int64_t *within = malloc(((size_t)n + 1) * sizeof *within);
        found = space == NULL || cut == NULL || under == NULL || within == NULL ? -3 : 0;
        if (found == 0) {
            Py_BEGIN_ALLOW_THREADS
            found = count_all(&rows, views[VALUE].buf, views[USER].buf, n, &every, space, cut,
                              under, within) < 0
                        ? -2
                        : 0;
            Py_END_ALLOW_THREADS
        }
        free(space);
        free(cut);
        free(under);
        free(within);
    }
    release(views, ARRAYS);
    if (found == -3)
        return PyErr_NoMemory();
    if (found == -2)
        return unfit();
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------------------------------------- */

static const char SORT[] =
    "sort(user, rank, order)\n--\n\n"
    "Write the positions by user and rank, where users ascend. Return whether the ranks of each user\n"
    "differ.";

struct ranked {
    double rank;
    int64_t at;
};

static int
compare_ranks(const void *left, const void *right)
{
    return compare(&((const struct ranked *)left)->rank, &((const struct ranked *)right)->rank);
}

static void
sort_ranks(struct ranked *ranked, Py_ssize_t n)
{
    if (n > SHORT) {
        qsort(ranked, (size_t)n, sizeof *ranked, compare_ranks);
        return;
    }
    for (Py_ssize_t i = 1; i < n; i++) {
        struct ranked one = ranked[i];
        Py_ssize_t at = i;
        for (; at > 0 && ranked[at - 1].rank > one.rank; at--)
            ranked[at] = ranked[at - 1];
        ranked[at] = one;
    }
}

/* 1 if the ranks of each user differ, 0 if not, -1 if the users do not ascend. */
static int
sort_all(const int64_t *user, const double *rank, int64_t *order, Py_ssize_t n,
         struct ranked *ranked)
{
    for (Py_ssize_t first = 0, last; first < n; first = last) {
        for (last = first; last < n && user[last] == user[first]; last++)
            ranked[last - first] = (struct ranked){rank[last], last};
        if (last < n && user[last] < user[first])
            return -1;
        sort_ranks(ranked, last - first);
        for (Py_ssize_t i = first; i < last; i++) {
            order[i] = ranked[i - first].at;
            if (i > first && ranked[i - first].rank == ranked[i - first - 1].rank)
                return 0;
        }
    }
    return 1;
}

static PyObject *
sort_by_rank(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    Py_buffer views[3];
    int found = -1;
    if (n_args != 3)
        return unfit();
    if (arrays(args, 3, views, 4) < 0)
        return NULL;
    Py_ssize_t n = size(&views[0]);
    if (size(&views[1]) == n && size(&views[2]) == n) {
        struct ranked *ranked = malloc(((size_t)n + 1) * sizeof *ranked);
        found = ranked == NULL ? -2 : 0;
        if (found == 0) {
            Py_BEGIN_ALLOW_THREADS
            found = sort_all(views[0].buf, views[1].buf, views[2].buf, n, ranked);
            Py_END_ALLOW_THREADS
        }
        free(ranked);
    }
    release(views, 3);
    return found == -2 ? PyErr_NoMemory() : found < 0 ? unfit() : PyBool_FromLong(found);
}

static PyMethodDef METHODS[] = {
    {"group", (PyCFunction)(void (*)(void))group, METH_FASTCALL, GROUP},
    {"match", (PyCFunction)(void (*)(void))match, METH_FASTCALL, MATCH},
    {"count", (PyCFunction)(void (*)(void))count, METH_FASTCALL, COUNT},
    {"sort", (PyCFunction)(void (*)(void))sort_by_rank, METH_FASTCALL, SORT},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_rows", NULL, 0, METHODS};

PyMODINIT_FUNC
PyInit__rows(void)
{
    return PyModuleDef_Init(&MODULE);
}
