/* What a host's pages have shown: see shown.c. */
#ifndef SITECRAWL_SHOWN_H
#define SITECRAWL_SHOWN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *shown_compare(PyObject *module, PyObject *args);
PyObject *shown_fill(PyObject *module, PyObject *args);
PyObject *shown_vote(PyObject *module, PyObject *args);

extern const char shown_compare_doc[], shown_fill_doc[], shown_vote_doc[];

#endif
