/* Dictionaries {item: number} and lists of items, read and looked up without a Python object for
 * each entry.
 *
 * `_lists.py` does the same where this module was not compiled. Only plain values are read here:
 * Python has a closer look at all others.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum kind { OTHER, TEXT, WHOLE };

static const double EXACT = 9007199254740992.0; /* 2**53: integers below have a float */

/* The kind of an id, if its hash is that of the plain value. */
static enum kind
kind_of(PyObject *id)
{
    if (PyUnicode_CheckExact(id)) {
        if (PyUnicode_IS_ASCII(id))
            return TEXT;
        Py_ssize_t length = PyUnicode_GET_LENGTH(id);
        int width = PyUnicode_KIND(id);
        const void *data = PyUnicode_DATA(id);
        for (Py_ssize_t at = 0; at < length; at++)
            if (Py_UNICODE_IS_SURROGATE(PyUnicode_READ(width, data, at)))
                return OTHER;
        return TEXT;
    }
    if (PyLong_CheckExact(id)) {
        int overflow;
        PyLong_AsLongLongAndOverflow(id, &overflow);
        return overflow ? OTHER : WHOLE;
    }
    return OTHER;
}

/* A float or an integer as a float; NaN if it is neither, or an integer that no float holds. */
static double
number_of(PyObject *value)
{
    if (PyFloat_CheckExact(value))
        return PyFloat_AS_DOUBLE(value);
    if (PyLong_CheckExact(value)) {
        int overflow;
        double found = (double)PyLong_AsLongLongAndOverflow(value, &overflow);
        if (!overflow && -EXACT < found && found < EXACT)
            return found;
    }
    return NAN;
}

static const char READ[] =
    "read(dicts, numbers)\n--\n\n"
    "Write the numbers of dicts into an array of float64, one dict after the other.\n\n"
    "Return 1 if all keys are text, 2 if all are integers of 64 bits, and 0 if any key or number\n"
    "needs a closer look.";

/* Write the numbers of a dict; NULL if a key or a number needs a closer look. */
static double *
write_numbers(PyObject *dict, double *number, const double *end, enum kind *all)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    /* PyDict_Next does not follow the order of an OrderedDict. */
    if (!PyDict_Check(dict) || PyODict_Check(dict) || PyDict_GET_SIZE(dict) > end - number)
        return NULL;
    while (PyDict_Next(dict, &position, &key, &value)) {
        enum kind kind = kind_of(key);
        *number = number_of(value);
        if (kind == OTHER || (*all != OTHER && kind != *all) || isnan(*number))
            return NULL;
        *all = kind;
        number++;
    }
    return number;
}

static PyObject *
read_dicts(PyObject *module, PyObject *args)
{
    PyObject *dicts;
    Py_buffer numbers;
    if (!PyArg_ParseTuple(args, "O!w*", &PyList_Type, &dicts, &numbers))
        return NULL;
    double *number = numbers.buf, *end = number + numbers.len / sizeof *number;
    enum kind all = OTHER;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(dicts) && number != NULL; i++)
        number = write_numbers(PyList_GET_ITEM(dicts, i), number, end, &all);
    PyBuffer_Release(&numbers);
    return PyLong_FromLong(number == end ? all : OTHER);
}

static const char LOOK_UP[] =
    "look_up(dicts, at, items, found)\n--\n\n"
    "Write the number of each of the items in the dict `at` into an array of float64; NaN where it\n"
    "is not there.";

static PyObject *
look_up(PyObject *module, PyObject *args)
{
    PyObject *dicts, *items;
    Py_buffer places, numbers;
    if (!PyArg_ParseTuple(args, "O!y*O!w*", &PyList_Type, &dicts, &places, &PyList_Type, &items,
                          &numbers))
        return NULL;
    const int64_t *at = places.buf;
    double *number = numbers.buf;
    Py_ssize_t n = PyList_GET_SIZE(items), n_dicts = PyList_GET_SIZE(dicts);
    if (places.len != n * (Py_ssize_t)sizeof *at || numbers.len != n * (Py_ssize_t)sizeof *number)
        PyErr_SetString(PyExc_ValueError, "`at`, `items` and `found` must have the same length");
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
        PyObject *dict = 0 <= at[i] && at[i] < n_dicts ? PyList_GET_ITEM(dicts, at[i]) : NULL;
        if (dict == NULL || !PyDict_Check(dict)) {
            PyErr_SetString(PyExc_IndexError, "`at` must be the places of dicts");
            break;
        }
        PyObject *value = PyDict_GetItemWithError(dict, PyList_GET_ITEM(items, i));
        number[i] = value == NULL ? NAN : PyFloat_AsDouble(value);
    }
    PyBuffer_Release(&places);
    PyBuffer_Release(&numbers);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

/* Where the items of a list are in it, by hash; 0 is an empty slot. */
struct places {
    uint32_t *slot; /* the place of an item plus one */
    Py_hash_t *hash; /* of the item at each place */
    size_t mask, room;
};

static void
discard(struct places *places)
{
    PyMem_Free(places->slot);
    PyMem_Free(places->hash);
}

/* Make room for `n` items; -1 if that fails. */
static int
clear(struct places *places, Py_ssize_t n)
{
    size_t size = 4;
    while (size < 2 * (size_t)n && size <= UINT32_MAX / 2)
        size *= 2;
    if (size > places->room) {
        discard(places);
        places->slot = PyMem_New(uint32_t, size);
        places->hash = PyMem_New(Py_hash_t, size);
        places->room = size;
    }
    if (size < 2 * (size_t)n || places->slot == NULL || places->hash == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    places->mask = size - 1;
    memset(places->slot, 0, size * sizeof *places->slot);
    return 0;
}

/* The slot that an item of these has, or would have; NULL after an error. */
static uint32_t *
slot_of(const struct places *places, PyObject *const *items, PyObject *item, Py_hash_t hash)
{
    size_t at = (size_t)hash;
    at = (at ^ at >> 15) * 0x9E3779B1u;
    for (at = (at ^ at >> 16) & places->mask; places->slot[at]; at = (at + 1) & places->mask) {
        uint32_t place = places->slot[at] - 1;
        if (places->hash[place] != hash)
            continue;
        int same = items[place] == item ? 1 : PyObject_RichCompareBool(items[place], item, Py_EQ);
        if (same)
            return same < 0 ? NULL : &places->slot[at];
    }
    return &places->slot[at];
}

/* Put all items into their slots: 1 if they differ, 0 if any occurs twice, -1 after an error. */
static int
fill(struct places *places, PyObject *const *items, Py_ssize_t n)
{
    if (clear(places, n) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_hash_t hash = PyObject_Hash(items[i]);
        uint32_t *slot = hash == -1 ? NULL : slot_of(places, items, items[i], hash);
        if (slot == NULL)
            return -1;
        if (*slot)
            return 0;
        *slot = (uint32_t)i + 1;
        places->hash[i] = hash;
    }
    return 1;
}

static const char KIND[] =
    "kind(lists)\n--\n\n"
    "Return 1 if all items of lists or sets are text, 2 if all are integers of 64 bits, and 0 if any\n"
    "item needs a closer look or is twice in a list.";

static PyObject *
kind_of_lists(PyObject *module, PyObject *lists)
{
    enum kind all = OTHER;
    struct places places = {NULL, NULL, 0, 0};
    int plain = PyList_Check(lists);
    for (Py_ssize_t i = 0; plain > 0 && i < PyList_GET_SIZE(lists); i++) {
        PyObject *one = PyList_GET_ITEM(lists, i);
        PyObject *list = PySequence_Fast(one, "`lists` must be lists or sets");
        if (list == NULL) {
            plain = -1;
            break;
        }
        PyObject **items = PySequence_Fast_ITEMS(list);
        Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
        for (Py_ssize_t at = 0; plain && at < n; at++) {
            enum kind kind = kind_of(items[at]);
            plain = kind != OTHER && (all == OTHER || kind == all);
            all = kind;
        }
        if (plain && !PyAnySet_Check(one))
            plain = fill(&places, items, n);
        Py_DECREF(list);
    }
    discard(&places);
    return plain < 0 ? NULL : PyLong_FromLong(plain ? all : OTHER);
}

static const char FIND[] =
    "find(lists, at, items, found)\n--\n\n"
    "Write the place of each of the items in the list `at` into an array of float64; NaN where it is\n"
    "not there. All items of a list follow one another.";

static PyObject *
find(PyObject *module, PyObject *args)
{
    PyObject *lists, *items;
    Py_buffer at, found;
    if (!PyArg_ParseTuple(args, "O!y*O!w*", &PyList_Type, &lists, &at, &PyList_Type, &items,
                          &found))
        return NULL;
    const int64_t *number = at.buf;
    double *place = found.buf;
    struct places places = {NULL, NULL, 0, 0};
    Py_ssize_t n = PyList_GET_SIZE(items), n_lists = PyList_GET_SIZE(lists);
    PyObject *list = NULL;
    if (at.len != n * (Py_ssize_t)sizeof *number || found.len != n * (Py_ssize_t)sizeof *place)
        PyErr_SetString(PyExc_ValueError, "`at`, `items` and `found` must have the same length");
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
        PyObject *item = PyList_GET_ITEM(items, i);
        if (i == 0 || number[i] != number[i - 1]) {
            list = 0 <= number[i] && number[i] < n_lists ? PyList_GET_ITEM(lists, number[i]) : NULL;
            if (list == NULL || !PyList_Check(list)) {
                PyErr_SetString(PyExc_IndexError, "`at` must be the places of lists");
                break;
            }
            if (fill(&places, PySequence_Fast_ITEMS(list), PyList_GET_SIZE(list)) < 0)
                break;
        }
        Py_hash_t hash = PyObject_Hash(item);
        uint32_t *slot =
            hash == -1 ? NULL : slot_of(&places, PySequence_Fast_ITEMS(list), item, hash);
        if (slot == NULL)
            break;
        place[i] = *slot ? *slot - 1.0 : NAN;
    }
    discard(&places);
    PyBuffer_Release(&at);
    PyBuffer_Release(&found);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef METHODS[] = {
    {"read", read_dicts, METH_VARARGS, READ},
    {"look_up", look_up, METH_VARARGS, LOOK_UP},
    {"kind", kind_of_lists, METH_O, KIND},
    {"find", find, METH_VARARGS, FIND},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_dicts", NULL, 0, METHODS};

PyMODINIT_FUNC
PyInit__dicts(void)
{
    return PyModuleDef_Init(&MODULE);
}
