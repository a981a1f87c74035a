/* A page's anchors as links: see anchors.c. */
#ifndef SITECRAWL_ANCHORS_H
#define SITECRAWL_ANCHORS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern const char anchors_doc[];
PyObject *anchors(PyObject *module, PyObject *args);

#endif
