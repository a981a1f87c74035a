/* What each link of a page costs a frontier: a look at the cache of seen URLs, credit that is owed to its target, and
   the target's place in its queue. The twins are in sitecrawl/frontier/seen/clock.py, sitecrawl/frontier/urls/
   link_credit.py and sitecrawl/frontier/urls/order.py. */

#include "links.h"

#include <stdint.h>
#include <string.h>

enum { RANK = 12, CLASS = 6, TOP_CLASS = 0xFFFF };
/* The root of 2^127, rounded up. */
#define ROOT UINT64_C(0xB504F333F9DE6485)

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

/* Half octaves: see `credit_class` in order.py. */
static unsigned class_of(uint64_t credit) {
    unsigned bits = 64;
    if (credit == 0) {
        return 0;
    }
    for (; !(credit >> 63); credit <<= 1) {
        bits--;
    }
    return credit >= ROOT ? 2 * bits : 2 * bits - 1;
}

const char raised_rank_doc[] = PyDoc_STR(
    "raised_rank(rank, credit, /)\n--\n\n"
    "The rank with so much credit, 0 to 2^63 - 1, where that is less than `rank`, of 12 bytes; else None.");

PyObject *raised_rank(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *rank;
    char raised[RANK];
    Py_ssize_t length;
    long long credit;
    unsigned before, after;
    if (!PyArg_ParseTuple(args, "y#L:raised_rank", &rank, &length, &credit)) {
        return NULL;
    }
    if (length != RANK) {
        PyErr_SetString(PyExc_ValueError, "a rank has 12 bytes");
        return NULL;
    }
    before = (unsigned)(unsigned char)rank[CLASS] << 8 | (unsigned char)rank[CLASS + 1];
    after = TOP_CLASS - class_of(credit > 0 ? (uint64_t)credit : 0);
    if (after >= before) {
        Py_RETURN_NONE;
    }
    memcpy(raised, rank, RANK);
    raised[CLASS] = (char)(after >> 8);
    raised[CLASS + 1] = (char)(after & 0xFF);
    return PyBytes_FromStringAndSize(raised, RANK);
}
