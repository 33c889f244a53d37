/* Dictionaries {item: number}, read and looked up without a Python object for each entry.
 *
 * `_lists.py` does the same where this module was not compiled. Only plain values are read here:
 * Python has a closer look at all others.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>

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

static PyMethodDef METHODS[] = {
    {"read", read_dicts, METH_VARARGS, READ},
    {"look_up", look_up, METH_VARARGS, LOOK_UP},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_dicts", NULL, 0, METHODS};

PyMODINIT_FUNC
PyInit__dicts(void)
{
    return PyModuleDef_Init(&MODULE);
}
