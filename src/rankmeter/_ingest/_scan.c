/* Lines of TREC files, read and looked up without a Python object for each of them.
 *
 * `_lines.py` holds what is found here. Only plain lines are read: `_trec.py` has a closer look at
 * all others, and does the same where this module was not compiled. A content is read in pieces,
 * parts of it by several threads at the same time, and only its ids are kept.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char byte;

/* ---------------------------------------------------------------------------------------------
 * Bytes
 */

#define EACH(value) (UINT64_C(0x0101010101010101) * (value))

/* Eight bytes, the first of them lowest. */
static uint64_t
word_at(const byte *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

/* Up to eight bytes. */
static uint64_t
part_at(const byte *p, size_t size)
{
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)p[i] << 8 * i;
    return word;
}

/* Where the first white space or control character is. */
static const byte *
end_of_field(const byte *p, const byte *end)
{
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

static const byte *
skip_blanks(const byte *p, const byte *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* Where the next line begins. */
static const byte *
next_line(const byte *p, const byte *end)
{
    p = memchr(p, '\n', (size_t)(end - p));
    return p == NULL ? end : p + 1;
}

/* ---------------------------------------------------------------------------------------------
 * Ids
 */

/* Where an id is in the content, and its hash. `SPAN` in `_spans.py` has the same fields. */
struct span {
    int64_t start;
    uint32_t size;
    uint32_t hash;
};

struct content {
    const byte *start, *end;
};

/* The hash of some bytes, which are followed by others up to the end of the content. */
static uint32_t
hash_of(const byte *p, size_t size, const byte *end)
{
    uint64_t hash = size;
    while (size > 0) {
        size_t n = size < 8 ? size : 8;
        uint64_t word = end - p < 8 ? part_at(p, n) : word_at(p);
        hash = (hash ^ word << 8 * (8 - n)) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
        p += n;
        size -= n;
    }
    return (uint32_t)(hash * UINT64_C(0xd6e8feb86659fd93) >> 32);
}

static int
is_inside(const struct span *one, struct content text)
{
    int64_t size = text.end - text.start;
    return 0 <= one->start && one->start <= size && one->size <= size - one->start;
}

static int
is_same(const struct span *one, struct content text, const struct span *other, struct content its)
{
    return one->hash == other->hash && one->size == other->size && is_inside(one, text) &&
           is_inside(other, its) &&
           memcmp(text.start + one->start, its.start + other->start, one->size) == 0;
}

/* Places of ids by hash, plus one; 0 is an empty slot, and a full one is followed by the next. */
struct slots {
    uint32_t *table;
    size_t mask, size; /* the number of slots in use, less one, and that of those allocated */
};

/* Empty slots for so many ids, of which half remain empty; false if there is no memory. */
static int
clear_slots(struct slots *slots, size_t n)
{
    size_t wanted = 16;
    while (wanted < 2 * n)
        wanted *= 2;
    if (wanted > slots->size) {
        uint32_t *table = n < UINT32_MAX / 4 ? malloc(wanted * sizeof *table) : NULL;
        if (table == NULL)
            return 0;
        free(slots->table);
        slots->table = table;
        slots->size = wanted;
    }
    slots->mask = wanted - 1;
    memset(slots->table, 0, wanted * sizeof *slots->table);
    return 1;
}

/* ---------------------------------------------------------------------------------------------
 * Numbers
 */

static const double EXACT = 9007199254740992.0; /* 2**53: integers below have a float */

enum { TENS = 22, FIVES = 27, LONGEST = 100 };

static const double TEN[TENS + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* Powers of five, moved up until their first bit is set. */
static const uint64_t FIVE[FIVES + 1] = {
    UINT64_C(0x8000000000000000), UINT64_C(0xa000000000000000), UINT64_C(0xc800000000000000),
    UINT64_C(0xfa00000000000000), UINT64_C(0x9c40000000000000), UINT64_C(0xc350000000000000),
    UINT64_C(0xf424000000000000), UINT64_C(0x9896800000000000), UINT64_C(0xbebc200000000000),
    UINT64_C(0xee6b280000000000), UINT64_C(0x9502f90000000000), UINT64_C(0xba43b74000000000),
    UINT64_C(0xe8d4a51000000000), UINT64_C(0x9184e72a00000000), UINT64_C(0xb5e620f480000000),
    UINT64_C(0xe35fa931a0000000), UINT64_C(0x8e1bc9bf04000000), UINT64_C(0xb1a2bc2ec5000000),
    UINT64_C(0xde0b6b3a76400000), UINT64_C(0x8ac7230489e80000), UINT64_C(0xad78ebc5ac620000),
    UINT64_C(0xd8d726b7177a8000), UINT64_C(0x878678326eac9000), UINT64_C(0xa968163f0a57b400),
    UINT64_C(0xd3c21bcecceda100), UINT64_C(0x84595161401484a0), UINT64_C(0xa56fa5b99019a5c8),
    UINT64_C(0xcecb8f27f4200f3a),
};

/* Whole part of high * 2**64 / divisor, its last bit set if there is a remainder.
 *
 * The first bit of the divisor is set, and not that of `high`. Long division, with two digits of
 * 32 bits. */
static uint64_t
quotient(uint64_t high, uint64_t divisor)
{
    const uint64_t base = UINT64_C(1) << 32;
    uint64_t upper = divisor >> 32, lower = divisor & (base - 1), found = 0;
    for (int i = 0; i < 2; i++) {
        uint64_t digit = high / upper, rest = high % upper;
        while (rest < base && (digit >= base || digit * lower > rest << 32)) {
            digit--;
            rest += upper;
        }
        high = (high << 32) - digit * divisor;
        found = found << 32 | digit;
    }
    return found | (high != 0);
}

/* digits / 10**power, correctly rounded: a float holds fewer bits than the quotient. */
static double
divided(uint64_t digits, int power)
{
    int moved = 64 - ((power * 152170 >> 16) + 1); /* 5**power has so many bits less than 64 */
    int exponent = moved - power - 64;
    for (; digits >> 62 == 0; digits <<= 1)
        exponent--;
    return ldexp((double)quotient(digits, FIVE[power]), exponent);
}

/* digits * 10**exponent; NaN if that takes more than a few steps. */
static double
scaled(uint64_t digits, long exponent)
{
    if (digits == 0)
        return 0.0;
    if (FLT_EVAL_METHOD == 0 && digits <= (uint64_t)EXACT && -TENS <= exponent && exponent <= TENS)
        return exponent < 0 ? (double)digits / TEN[-exponent] : (double)digits * TEN[exponent];
    if (digits >> 63 == 0 && -FIVES <= exponent && exponent <= 0)
        return divided(digits, (int)-exponent);
    return NAN;
}

/* Read digits after those that were found before; NULL if there are too many. */
static const byte *
read_digits(const byte *p, const byte *end, uint64_t *digits)
{
    uint64_t found = *digits;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        if (found > (UINT64_MAX - 9) / 10)
            return NULL;
        found = 10 * found + (uint64_t)(*p - '0');
    }
    *digits = found;
    return p;
}

/* Read an exponent, such as ``e-7``; NULL if it is missing or long. */
static const byte *
read_exponent(const byte *p, const byte *end, long *exponent)
{
    uint64_t digits = 0;
    const byte *first = ++p;
    int negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        first = ++p;
    p = read_digits(p, end, &digits);
    if (p == NULL || p == first || digits > 10000)
        return NULL;
    *exponent += negative ? -(long)digits : (long)digits;
    return p;
}

/* The number that a field writes as a decimal number of few digits, or NaN. */
static double
short_number(const byte *p, const byte *end)
{
    uint64_t digits = 0;
    int negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    const byte *first = p, *point = NULL;
    p = read_digits(p, end, &digits);
    if (p != NULL && p < end && *p == '.') {
        point = ++p;
        p = read_digits(p, end, &digits);
    }
    if (p == NULL || p - first == (point != NULL)) /* no digit */
        return NAN;
    long exponent = point == NULL ? 0 : -(long)(p - point);
    if (p < end && (*p == 'e' || *p == 'E'))
        p = read_exponent(p, end, &exponent);
    if (p != end)
        return NAN;
    double number = scaled(digits, exponent);
    return negative ? -number : number;
}

/* The number that a field writes in any way that Python reads; NaN if it needs a closer look. */
static double
any_number(const byte *p, size_t size)
{
    char text[LONGEST + 1];
    if (size > LONGEST)
        return NAN;
    for (size_t i = 0; i < size; i++) {
        if (strchr("+-.0123456789eE", p[i]) == NULL) /* not inf, nan and the like */
            return NAN;
        text[i] = (char)p[i];
    }
    text[size] = '\0';
    PyGILState_STATE state = PyGILState_Ensure();
    double number = PyOS_string_to_double(text, NULL, NULL);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        number = NAN;
    }
    PyGILState_Release(state);
    return number;
}

/* ---------------------------------------------------------------------------------------------
 * Lines
 */

/* The fields of a line: the first is the topic, the third the item, and one is a number. */
struct form {
    int n_fields, number;
};

struct field {
    const byte *start, *end;
};

struct line {
    struct field topic, item, number;
};

/* Read the fields of a line and its end; NULL if it needs a closer look. */
static const byte *
read_line(const byte *p, const byte *end, const struct form *form, struct line *line)
{
    for (int i = 0; i < form->n_fields; i++) {
        struct field field = {skip_blanks(p, end), NULL};
        p = field.end = end_of_field(field.start, end);
        if (field.start == field.end)
            return NULL;
        if (i == 0)
            line->topic = field;
        else if (i == 2)
            line->item = field;
        else if (i == form->number)
            line->number = field;
    }
    p = skip_blanks(p, end);
    if (p < end && *p == '\r' && end - p > 1)
        p++;
    if (p < end && *p != '\n')
        return NULL;
    return p < end ? p + 1 : p;
}

/* The ids of the lines that were read, one after the other. */
struct kept {
    byte *start, *end; /* of the room for all of them */
    byte *next;
};

/* Keep a field of a content as an id. There is room: fields are parts of the content. */
static struct span
keep(struct field field, const byte *end, struct kept *kept)
{
    size_t size = (size_t)(field.end - field.start);
    struct span span = {kept->next - kept->start, (uint32_t)size, 0};
    span.hash = hash_of(field.start, size, end);
    memcpy(kept->next, field.start, size);
    kept->next += size;
    return span;
}

enum outcome { READ, CLOSER_LOOK, OUT_OF_MEMORY };

/* Read ids, none of which may occur twice. */
static enum outcome
read_once(const struct span *ids, size_t n, struct content text, struct slots *slots)
{
    if (!clear_slots(slots, n))
        return OUT_OF_MEMORY;
    for (size_t i = 0; i < n; i++) {
        size_t slot = ids[i].hash & slots->mask;
        for (; slots->table[slot] != 0; slot = (slot + 1) & slots->mask)
            if (is_same(&ids[i], text, &ids[slots->table[slot] - 1], text))
                return CLOSER_LOOK;
        slots->table[slot] = (uint32_t)(i + 1);
    }
    return READ;
}

/* The lines that were read, in arrays with room for all of a part. */
struct lines {
    struct span *items;
    double *numbers;
    struct span *topics;
    int64_t *first; /* line of each topic */
    size_t n, n_topics;
};

/* End a topic, whose items must be different; and so must topics, looked at now and then. */
static enum outcome
end_topic(const struct lines *lines, struct content text, struct slots *slots)
{
    if (lines->n_topics == 0)
        return READ;
    size_t first = (size_t)lines->first[lines->n_topics - 1], n = lines->n_topics;
    enum outcome outcome = read_once(lines->items + first, lines->n - first, text, slots);
    if (outcome == READ && n >= 1024 && (n & (n - 1)) == 0)
        outcome = read_once(lines->topics, n, text, slots);
    return outcome;
}

/* Read lines, at most `room` of them. */
static enum outcome
read_lines(struct content text, const struct form *form, size_t room, struct lines *lines,
           struct kept *kept, struct slots *slots)
{
    const byte *p = text.start, *stop = text.end;
    struct content ids = {kept->start, kept->end};
    struct line line = {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}};
    const byte *topic = NULL;
    size_t size = 0;
    while (p < stop) {
        if (*p == '\n') {
            p++;
            continue;
        }
        p = read_line(p, stop, form, &line);
        if (p == NULL || *line.topic.start == '#' || lines->n == room ||
            (size_t)(line.item.end - line.item.start) > UINT32_MAX)
            return CLOSER_LOOK;
        size_t own = (size_t)(line.topic.end - line.topic.start);
        if (topic == NULL || own != size || memcmp(topic, line.topic.start, size) != 0) {
            enum outcome outcome = end_topic(lines, ids, slots);
            if (outcome != READ || own > UINT32_MAX)
                return outcome == READ ? CLOSER_LOOK : outcome;
            lines->topics[lines->n_topics] = keep(line.topic, stop, kept);
            lines->first[lines->n_topics++] = (int64_t)lines->n;
        }
        topic = line.topic.start;
        size = own;
        double number = short_number(line.number.start, line.number.end);
        if (isnan(number))
            number = any_number(line.number.start, (size_t)(line.number.end - line.number.start));
        if (!(-EXACT < number && number < EXACT))
            return CLOSER_LOOK;
        lines->numbers[lines->n] = number;
        lines->items[lines->n++] = keep(line.item, stop, kept);
    }
    return end_topic(lines, ids, slots);
}

/* ---------------------------------------------------------------------------------------------
 * Functions
 */

/* Give back the buffers and return the result, unless an error is set. */
static PyObject *
answered(PyObject *result, Py_buffer *buffers, int n)
{
    for (int i = 0; i < n; i++)
        PyBuffer_Release(&buffers[i]);
    if (PyErr_Occurred())
        Py_CLEAR(result);
    return result;
}

static struct content
content_of(const Py_buffer *buffer)
{
    struct content text = {buffer->buf, (const byte *)buffer->buf + buffer->len};
    return text;
}

/* The topic of a line, which may be empty. */
static struct field
topic_of(const byte *p, const byte *end)
{
    const byte *first = skip_blanks(p, end);
    struct field field = {first, end_of_field(first, end)};
    return field;
}

static int
is_same_field(struct field one, struct field other)
{
    return one.end - one.start == other.end - other.start &&
           memcmp(one.start, other.start, (size_t)(one.end - one.start)) == 0;
}

static const char FIRST_TOPIC[] =
    "first_topic(piece)\n--\n\n"
    "Return where a topic begins after that of the first whole line; -1 if none does.\n\n"
    "The piece may begin and end within a line.";

static PyObject *
first_topic(PyObject *module, PyObject *piece)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(piece, &buffer, PyBUF_SIMPLE) < 0)
        return NULL;
    struct content text = content_of(&buffer);
    struct field topic = {NULL, NULL};
    Py_ssize_t found = -1;
    for (const byte *p = next_line(text.start, text.end); p < text.end && found < 0;
         p = next_line(p, text.end)) {
        struct field own = topic_of(p, text.end);
        if (own.end == text.end) /* perhaps not all of it is there */
            break;
        if (own.start == own.end)
            continue;
        if (topic.start != NULL && !is_same_field(own, topic))
            found = p - text.start;
        topic = own;
    }
    return answered(PyLong_FromSsize_t(found), &buffer, 1);
}

static const char LAST_TOPIC[] =
    "last_topic(piece)\n--\n\n"
    "Return where the topic of the last whole line begins; 0 if all lines are of one topic.\n\n"
    "The piece begins with a line, and may end within one.";

static PyObject *
last_topic(PyObject *module, PyObject *piece)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(piece, &buffer, PyBUF_SIMPLE) < 0)
        return NULL;
    struct content text = content_of(&buffer);
    struct field topic = {NULL, NULL};
    Py_ssize_t found = 0, begin = 0;
    const byte *p, *end = text.end;
    while (end > text.start && end[-1] != '\n')
        end--;
    for (; end > text.start && found == 0; end = p) {
        for (p = end - 1; p > text.start && p[-1] != '\n'; p--)
            ;
        struct field own = topic_of(p, end);
        if (own.start == own.end)
            continue;
        if (topic.start != NULL && !is_same_field(own, topic))
            found = begin;
        topic = own;
        begin = p - text.start;
    }
    return answered(PyLong_FromSsize_t(found), &buffer, 1);
}

static const char COUNT[] =
    "count(piece)\n--\n\n"
    "Return the number of ends of lines, and whether all bytes are ASCII.";

static PyObject *
count(PyObject *module, PyObject *piece)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(piece, &buffer, PyBUF_SIMPLE) < 0)
        return NULL;
    struct content text = content_of(&buffer);
    size_t n = 0;
    byte bits = 0;
    Py_BEGIN_ALLOW_THREADS
    for (const byte *p = text.start; p < text.end; p++) {
        n += *p == '\n';
        bits |= *p;
    }
    Py_END_ALLOW_THREADS
    return answered(Py_BuildValue("nO", n, bits < 0x80 ? Py_True : Py_False), &buffer, 1);
}

static const char SCAN[] =
    "scan(piece, n_fields, number, items, numbers, topics, first, kept, used)\n--\n\n"
    "Read the lines of a piece, which begins and ends with a topic.\n\n"
    "Write the items, the numbers, the topics and the first line of each topic, and the ids after\n"
    "those `used` bytes that are kept already. Return how many lines, topics and bytes there are\n"
    "now; None if any line needs a closer look.";

static PyObject *
scan(PyObject *module, PyObject *args)
{
    Py_buffer buffers[6];
    Py_ssize_t used;
    struct form form;
    if (!PyArg_ParseTuple(args, "y*iiw*w*w*w*w*n", &buffers[0], &form.n_fields, &form.number,
                          &buffers[1], &buffers[2], &buffers[3], &buffers[4], &buffers[5], &used))
        return NULL;
    struct content text = content_of(&buffers[0]);
    struct lines lines = {buffers[1].buf, buffers[2].buf, buffers[3].buf, buffers[4].buf, 0, 0};
    struct slots slots = {NULL, 0, 0};
    size_t room = (size_t)buffers[1].len / sizeof *lines.items;
    if ((size_t)buffers[2].len / sizeof *lines.numbers != room ||
        (size_t)buffers[3].len / sizeof *lines.topics != room ||
        (size_t)buffers[4].len / sizeof *lines.first != room)
        PyErr_SetString(PyExc_ValueError, "the arrays must have the same length");
    else if (form.n_fields < 4 || form.number < 3 || form.number >= form.n_fields)
        PyErr_SetString(PyExc_ValueError, "the number must be a field after the third");
    else if (used < 0 || used > buffers[5].len || buffers[0].len > buffers[5].len - used)
        PyErr_SetString(PyExc_ValueError, "there must be room for all ids");
    if (PyErr_Occurred())
        return answered(NULL, buffers, 6);
    byte *start = buffers[5].buf;
    struct kept kept = {start, start + buffers[5].len, start + used};
    enum outcome outcome;
    Py_BEGIN_ALLOW_THREADS
    outcome = read_lines(text, &form, room, &lines, &kept, &slots);
    free(slots.table);
    Py_END_ALLOW_THREADS
    if (outcome == OUT_OF_MEMORY)
        return answered(PyErr_NoMemory(), buffers, 6);
    if (outcome == CLOSER_LOOK)
        return answered(Py_NewRef(Py_None), buffers, 6);
    Py_ssize_t now = kept.next - kept.start;
    return answered(Py_BuildValue("nnn", lines.n, lines.n_topics, now), buffers, 6);
}

static const char DIFFERENT[] =
    "different(content, ids)\n--\n\n"
    "Return whether no id occurs twice.";

static PyObject *
different(PyObject *module, PyObject *args)
{
    Py_buffer buffers[2];
    if (!PyArg_ParseTuple(args, "y*y*", &buffers[0], &buffers[1]))
        return NULL;
    struct slots slots = {NULL, 0, 0};
    size_t n = (size_t)buffers[1].len / sizeof(struct span);
    enum outcome outcome;
    Py_BEGIN_ALLOW_THREADS
    outcome = read_once(buffers[1].buf, n, content_of(&buffers[0]), &slots);
    free(slots.table);
    Py_END_ALLOW_THREADS
    if (outcome == OUT_OF_MEMORY)
        return answered(PyErr_NoMemory(), buffers, 2);
    return answered(PyBool_FromLong(outcome == READ), buffers, 2);
}

static const char WRITE_HASHES[] =
    "write_hashes(content, ids)\n--\n\n"
    "Write the hash of each id.";

static PyObject *
write_hashes(PyObject *module, PyObject *args)
{
    Py_buffer buffers[2];
    if (!PyArg_ParseTuple(args, "y*w*", &buffers[0], &buffers[1]))
        return NULL;
    struct content text = content_of(&buffers[0]);
    struct span *ids = buffers[1].buf;
    size_t n = (size_t)buffers[1].len / sizeof *ids;
    for (size_t i = 0; i < n && !PyErr_Occurred(); i++) {
        if (is_inside(&ids[i], text))
            ids[i].hash = hash_of(text.start + ids[i].start, ids[i].size, text.end);
        else
            PyErr_SetString(PyExc_IndexError, "an id is not inside the content");
    }
    return answered(Py_NewRef(Py_None), buffers, 2);
}

static const char GATHER[] =
    "gather(content, ids)\n--\n\n"
    "Return the ids, each followed by the end of a line.";

static PyObject *
gather(PyObject *module, PyObject *args)
{
    Py_buffer buffers[2];
    if (!PyArg_ParseTuple(args, "y*y*", &buffers[0], &buffers[1]))
        return NULL;
    struct content text = content_of(&buffers[0]);
    const struct span *ids = buffers[1].buf;
    size_t n = (size_t)buffers[1].len / sizeof *ids;
    Py_ssize_t size = 0;
    for (size_t i = 0; i < n && size >= 0; i++)
        size = is_inside(&ids[i], text) && size < PY_SSIZE_T_MAX - UINT32_MAX - 1
                   ? size + (Py_ssize_t)ids[i].size + 1
                   : -1;
    if (size < 0) {
        PyErr_SetString(PyExc_IndexError, "an id is not inside the content");
        return answered(NULL, buffers, 2);
    }
    PyObject *result = PyBytes_FromStringAndSize(NULL, size);
    char *to = result == NULL ? NULL : PyBytes_AS_STRING(result);
    for (size_t i = 0; i < n && to != NULL; i++) {
        memcpy(to, text.start + ids[i].start, ids[i].size);
        to += ids[i].size;
        *to++ = '\n';
    }
    return answered(result, buffers, 2);
}

/* Some users' items with their numbers, and what is sought among those of one user. */
struct search {
    struct content text, its;
    const struct span *items, *sought;
    const double *numbers;
    double *found;
};

/* Look up ids, from one place to another, in a list of items. */
static int
look_up_in(const struct search *search, int64_t begin, int64_t end, size_t from, size_t to,
           struct slots *slots)
{
    if (!clear_slots(slots, 2 * (to - from)))
        return 0;
    for (size_t i = from; i < to; i++) {
        size_t slot = search->sought[i].hash & slots->mask;
        while (slots->table[slot] != 0)
            slot = (slot + 1) & slots->mask;
        slots->table[slot] = (uint32_t)(i - from + 1);
        search->found[i] = NAN;
    }
    for (int64_t line = begin; line < end; line++) {
        const struct span *item = &search->items[line];
        size_t slot = item->hash & slots->mask;
        for (; slots->table[slot] != 0; slot = (slot + 1) & slots->mask) {
            size_t i = from + slots->table[slot] - 1;
            if (is_same(item, search->text, &search->sought[i], search->its))
                search->found[i] = search->numbers[line];
        }
    }
    return 1;
}

static const char LOOK_UP[] =
    "look_up(content, items, numbers, offsets, at, others, sought, found)\n--\n\n"
    "Write the number of each sought id in the list `at`, which ascends; NaN where it is not there.\n\n"
    "The list begins and ends at the `offsets` of the items. The content of the ids is `others`.";

static PyObject *
look_up(PyObject *module, PyObject *args)
{
    Py_buffer b[8];
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6],
                          &b[7]))
        return NULL;
    const struct search search = {content_of(&b[0]), content_of(&b[5]), b[1].buf,
                                  b[6].buf,          b[2].buf,          b[7].buf};
    const int64_t *offsets = b[3].buf, *at = b[4].buf;
    int64_t n_items = b[1].len / (Py_ssize_t)sizeof *search.items;
    int64_t n_lists = b[3].len / (Py_ssize_t)sizeof *offsets - 1;
    size_t n = (size_t)b[4].len / sizeof *at;
    if (b[2].len / (Py_ssize_t)sizeof *search.numbers != n_items ||
        (size_t)b[6].len / sizeof *search.sought != n ||
        (size_t)b[7].len / sizeof *search.found != n) {
        PyErr_SetString(PyExc_ValueError, "`at`, `sought` and `found` must have the same length");
        return answered(NULL, b, 8);
    }
    struct slots slots = {NULL, 0, 0};
    int inside = 1, enough = 1;
    Py_BEGIN_ALLOW_THREADS
    for (size_t from = 0, to; from < n && inside && enough; from = to) {
        int64_t list = at[from];
        for (to = from; to < n && at[to] == list; to++)
            ;
        inside = 0 <= list && list < n_lists && 0 <= offsets[list] && offsets[list + 1] <= n_items;
        enough = !inside || look_up_in(&search, offsets[list], offsets[list + 1], from, to, &slots);
    }
    free(slots.table);
    Py_END_ALLOW_THREADS
    if (!inside)
        PyErr_SetString(PyExc_IndexError, "`at` must be the places of lists");
    if (!enough)
        PyErr_NoMemory();
    return answered(Py_NewRef(Py_None), b, 8);
}

static PyMethodDef METHODS[] = {
    {"first_topic", first_topic, METH_O, FIRST_TOPIC},
    {"last_topic", last_topic, METH_O, LAST_TOPIC},
    {"count", count, METH_O, COUNT},
    {"scan", scan, METH_VARARGS, SCAN},
    {"different", different, METH_VARARGS, DIFFERENT},
    {"write_hashes", write_hashes, METH_VARARGS, WRITE_HASHES},
    {"gather", gather, METH_VARARGS, GATHER},
    {"look_up", look_up, METH_VARARGS, LOOK_UP},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_scan", NULL, 0, METHODS};

PyMODINIT_FUNC
PyInit__scan(void)
{
    return PyModuleDef_Init(&MODULE);
}
