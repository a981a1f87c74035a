/* The module `sitecrawl.base._native`: what Python sees of the C beside it, by the limited API of Python 3.11.

   No function here raises for what a page can hold. What one of them does not know it leaves to its twin in Python. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "anchors.h"
#include "bloom.h"
#include "links.h"
#include "shingles.h"
#include "shown.h"
#include "simhash.h"
#include "tree.h"
#include "warc.h"

/* Borrowed UTF-8 of a str; NULL without an exception where it is none, or has surrogates. */
static const char *utf8(PyObject *text, Py_ssize_t *length) {
    const char *bytes = PyUnicode_CheckExact(text) ? PyUnicode_AsUTF8AndSize(text, length) : NULL;
    if (bytes == NULL) {
        PyErr_Clear();
    }
    return bytes;
}

PyDoc_STRVAR(simhash_doc, "simhash(text, /)\n--\n\nOf a text whose letters beyond ASCII are in lower case.");

static PyObject *simhash(PyObject *Py_UNUSED(module), PyObject *text) {
    Py_ssize_t length;
    const char *bytes = utf8(text, &length);
    char *room;
    uint64_t hash;
    if (bytes == NULL) {
        Py_RETURN_NONE;
    }
    room = PyMem_Malloc((size_t)length + 1);
    if (room == NULL) {
        return PyErr_NoMemory();
    }
    hash = simhash_of(bytes, (size_t)length, room);
    PyMem_Free(room);
    return PyLong_FromUnsignedLongLong(hash);
}

PyDoc_STRVAR(shingles_doc, "shingles(text, /)\n--\n\nOf a text whose letters beyond ASCII are in lower case.");

static PyObject *shingles(PyObject *Py_UNUSED(module), PyObject *text) {
    unsigned char sample[SHINGLES_BYTES];
    Py_ssize_t length;
    const char *bytes = utf8(text, &length);
    char *room;
    size_t size;
    if (bytes == NULL) {
        Py_RETURN_NONE;
    }
    room = PyMem_Malloc((size_t)length + 1);
    if (room == NULL) {
        return PyErr_NoMemory();
    }
    size = shingles_of(bytes, (size_t)length, room, sample);
    PyMem_Free(room);
    return PyBytes_FromStringAndSize((const char *)sample, (Py_ssize_t)size);
}

static PyMethodDef methods[] = {
    {"anchors", anchors, METH_VARARGS, anchors_doc},
    {"base32", base32, METH_O, base32_doc},
    {"bloom_add", bloom_add, METH_VARARGS, bloom_add_doc},
    {"bloom_has", bloom_has, METH_VARARGS, bloom_has_doc},
    {"clock_mark", clock_mark, METH_VARARGS, clock_mark_doc},
    {"http_head", http_head, METH_VARARGS, http_head_doc},
    {"owe", owe, METH_VARARGS, owe_doc},
    {"shingles", shingles, METH_O, shingles_doc},
    {"shown_compare", shown_compare, METH_VARARGS, shown_compare_doc},
    {"shown_fill", shown_fill, METH_VARARGS, shown_fill_doc},
    {"shown_vote", shown_vote, METH_VARARGS, shown_vote_doc},
    {"simhash", simhash, METH_O, simhash_doc},
    {"tree", tree, METH_VARARGS, tree_doc},
    {"use_lexbor", use_lexbor, METH_O, use_lexbor_doc},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module) {
    return PyModule_AddIntConstant(module, "INTERFACE", 12);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)execute},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "The inner loops in C.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void) {
    return PyModuleDef_Init(&definition);
}
