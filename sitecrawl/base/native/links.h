/* What each link of a page costs a frontier: see links.c. */
#ifndef SITECRAWL_LINKS_H
#define SITECRAWL_LINKS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *clock_mark(PyObject *module, PyObject *args);
PyObject *owe(PyObject *module, PyObject *args);

extern const char clock_mark_doc[], owe_doc[];

#endif
