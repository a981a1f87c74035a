/* What each link of a page costs a frontier: a look at the cache of seen URLs, and credit that is owed to its target.
   The twins are in sitecrawl/frontier/seen/clock.py and sitecrawl/frontier/urls/link_credit.py. */

#include "links.h"

const char clock_mark_doc[] = PyDoc_STR(
    "clock_mark(slots, marks, keys, start, /)\n--\n\n"
    "Mark the slots of `keys` from `start` on, up to the first that has none; return its place.");

PyObject *clock_mark(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *slots, *table, *keys;
    Py_ssize_t at, count, size;
    char *marks;
    if (!PyArg_ParseTuple(args, "O!O!O!n:clock_mark", &PyDict_Type, &slots, &PyByteArray_Type, &table, &PyList_Type,
                          &keys, &at)) {
        return NULL;
    }
    marks = PyByteArray_AsString(table);
    size = PyByteArray_Size(table);
    count = PyList_Size(keys);
    for (; at >= 0 && at < count; at++) {
        PyObject *slot = PyDict_GetItemWithError(slots, PyList_GetItem(keys, at));
        Py_ssize_t place;
        if (slot == NULL) {
            if (PyErr_Occurred()) {
                return NULL;
            }
            break;
        }
        place = PyLong_AsSsize_t(slot);
        if (place < 0 || place >= size) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_IndexError, "a slot beyond the marks");
            }
            return NULL;
        }
        marks[place] = 1;
    }
    return PyLong_FromSsize_t(at);
}

/* Add `amount` to what `sums` has under `key`; -1 with an exception. */
static int add(PyObject *sums, PyObject *key, PyObject *amount) {
    PyObject *before = PyDict_GetItemWithError(sums, key), *after;
    int failed;
    if (before == NULL) {
        return PyErr_Occurred() ? -1 : PyDict_SetItem(sums, key, amount);
    }
    after = PyNumber_Add(before, amount);
    failed = after == NULL ? -1 : PyDict_SetItem(sums, key, after);
    Py_XDECREF(after);
    return failed;
}

const char owe_doc[] = PyDoc_STR(
    "owe(owed, counts, links, follow, nofollow, /)\n--\n\n"
    "Add to `owed` what each of `links` is worth, by its key, and 1 to `counts`, unless that is None.");

PyObject *owe(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *owed, *counts, *links, *follow, *nofollow, *key, *link, *one, *name;
    Py_ssize_t at = 0;
    int failed = 0;
    if (!PyArg_ParseTuple(args, "O!OO!OO:owe", &PyDict_Type, &owed, &counts, &PyDict_Type, &links, &follow,
                          &nofollow)) {
        return NULL;
    }
    if (counts != Py_None && !PyDict_Check(counts)) {
        PyErr_SetString(PyExc_TypeError, "counts is no dict");
        return NULL;
    }
    one = PyLong_FromLong(1);
    name = PyUnicode_InternFromString("nofollow");
    if (one == NULL || name == NULL) {
        failed = -1;
    }
    while (!failed && PyDict_Next(links, &at, &key, &link)) {
        PyObject *said = PyObject_GetAttr(link, name);
        const int is_nofollow = said == NULL ? -1 : PyObject_IsTrue(said);
        Py_XDECREF(said);
        failed = is_nofollow < 0 || add(owed, key, is_nofollow ? nofollow : follow) < 0 ||
                 (counts != Py_None && add(counts, key, one) < 0);
    }
    Py_XDECREF(one);
    Py_XDECREF(name);
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}
