/* The links of a page's elements, all in one call. sitecrawl/page/links.py is the twin.

   Most links of most pages are an `<a>` with an ASCII `href` and no `rel`, and lead to a URL that was met before. That
   is all that is done here, in the order in which the elements stand. URLs are resolved by the twin's own function,
   which remembers them: there is no second parser. Whatever is otherwise, and every other element, is handed to the
   twin one by one, before anything was changed for it. */

#include "anchors.h"

#include <string.h>

enum { ELSEWHERE = 0, DONE = 1, COUNTED = 2, FAILED = -1 };
enum { GIVEN = 5 }; /* URL, host, text, kind, nofollow: the first fields of a link */

typedef struct {
    PyObject *targets;    /* dict: what stands in an href, without fragment, to its Url, or None */
    PyObject *links;      /* dict: the URL of each link to the link */
    PyObject *resolve;    /* target, directory, length, schemes to Url, or None */
    PyObject *type;       /* of links, with a slot for each field and without arguments of its own to `__new__` */
    PyObject *slots;      /* tuple: the descriptors of its fields */
    PyObject *defaults;   /* tuple: what stands in those that are not given */
    newfunc make;         /* what makes a link without its fields */
    descrsetfunc set;     /* what fills a slot */
    PyObject *no_arguments;
    PyObject *any_origin; /* what an absolute URL is relative to */
    PyObject *origin;     /* what `/path` is relative to, without its slash */
    PyObject *directory;  /* what `path` is relative to, the same */
    PyObject *max_length;
    PyObject *schemes;
    Py_ssize_t longest; /* targets and directories that are longer are not remembered */
    PyObject *href, *rel, *nofollow;
} Page;

/* Borrowed bytes of an ASCII str; NULL without an exception for all else. */
static const char *ascii(PyObject *text, Py_ssize_t *length) {
    const char *bytes = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, length) : NULL;
    if (bytes == NULL) {
        PyErr_Clear();
        return NULL;
    }
    return *length == PyUnicode_GetLength(text) ? bytes : NULL;
}

static int begins(const char *bytes, Py_ssize_t length, const char *beginning) {
    size_t size = strlen(beginning);
    return (size_t)length >= size && memcmp(bytes, beginning, size) == 0;
}

/* To which of the page's places a target is relative, borrowed; NULL where the twin has to look. */
static PyObject *place_of(const Page *page, const char *bytes, Py_ssize_t length) {
    if (length == 0 || length > page->longest || PyUnicode_GetLength(page->directory) > page->longest) {
        return NULL;
    }
    if (begins(bytes, length, "http://") || begins(bytes, length, "https://")) {
        return page->any_origin;
    }
    if (bytes[0] == '/') {
        return page->origin;
    }
    if (bytes[0] == '?' || (unsigned char)bytes[0] <= ' ' || memchr(bytes, ':', (size_t)length) != NULL) {
        return NULL;
    }
    return page->directory;
}

/* The Url of a target, new; None where the page is known to have no such URL; NULL for the twin, or with an error. */
static PyObject *url_of(const Page *page, PyObject *target, const char *bytes, Py_ssize_t length) {
    PyObject *place, *url = PyDict_GetItemWithError(page->targets, target);
    if (url != NULL || PyErr_Occurred()) {
        return Py_XNewRef(url);
    }
    place = place_of(page, bytes, length);
    if (place == NULL) {
        return NULL;
    }
    url = PyObject_CallFunctionObjArgs(page->resolve, target, place, page->max_length, page->schemes, NULL);
    if (url == Py_None || (url != NULL && PyDict_SetItem(page->targets, target, url) < 0)) {
        Py_CLEAR(url); /* the twin counts what is no URL */
    }
    return url;
}

/* A link as its `__init__` would fill it, new: for forty links a page that takes most of the time of this file. */
static PyObject *new_link(const Page *page, PyObject *const given[GIVEN]) {
    PyObject *link = page->make((PyTypeObject *)page->type, page->no_arguments, NULL);
    if (link == NULL) {
        return NULL;
    }
    for (Py_ssize_t at = 0; at < PyTuple_Size(page->slots); at++) {
        PyObject *value = at < GIVEN ? given[at] : PyTuple_GetItem(page->defaults, at - GIVEN);
        if (page->set(PyTuple_GetItem(page->slots, at), link, value) < 0) {
            Py_DECREF(link);
            return NULL;
        }
    }
    return link;
}

/* Whether links can be made as `new_link` does; -1 with an error where not. */
static int look_up_slots(Page *page) {
    const Py_ssize_t size = PyTuple_Size(page->slots);
    PyTypeObject *type = NULL;
    if (PyType_Check(page->type) && size >= GIVEN && PyTuple_Size(page->defaults) == size - GIVEN) {
        type = Py_TYPE(PyTuple_GetItem(page->slots, 0));
    }
    for (Py_ssize_t at = 0; type != NULL && at < size; at++) {
        type = Py_TYPE(PyTuple_GetItem(page->slots, at)) == type ? type : NULL;
    }
    page->set = type == NULL ? NULL : (descrsetfunc)PyType_GetSlot(type, Py_tp_descr_set);
    if (page->set == NULL) {
        PyErr_SetString(PyExc_TypeError, "a link has a slot for each field");
        return -1;
    }
    page->make = (newfunc)PyType_GetSlot((PyTypeObject *)page->type, Py_tp_new);
    page->no_arguments = PyTuple_New(0);
    return page->no_arguments == NULL ? -1 : 0;
}

static int add_link(const Page *page, PyObject *url, PyObject *text, PyObject *kind) {
    PyObject *href = PyTuple_GetItem(url, 0), *host = PyTuple_GetItem(url, 1), *link;
    int failed;
    if (href == NULL || host == NULL || text == NULL) {
        return FAILED;
    }
    link = PyDict_GetItemWithError(page->links, href);
    if (link != NULL) {
        return PyObject_SetAttr(link, page->nofollow, Py_False) < 0 ? FAILED : COUNTED;
    }
    if (PyErr_Occurred()) {
        return FAILED;
    }
    link = new_link(page, (PyObject *[GIVEN]){href, host, text, kind, Py_False});
    if (link == NULL) {
        return FAILED;
    }
    failed = PyDict_SetItem(page->links, href, link) < 0;
    Py_DECREF(link);
    return failed ? FAILED : COUNTED;
}

/* Whether an attribute is there and has a value, borrowed; NULL also with an error. */
static PyObject *value_of(PyObject *attributes, PyObject *name) {
    PyObject *value = PyDict_GetItemWithError(attributes, name);
    return value == Py_None ? NULL : value;
}

static int read_element(const Page *page, PyObject *element) {
    PyObject *kind, *attributes, *href, *target, *url;
    Py_ssize_t length;
    const char *bytes, *fragment;
    int outcome;
    if (!PyTuple_Check(element) || PyTuple_Size(element) != 3) {
        return ELSEWHERE;
    }
    kind = PyTuple_GetItem(element, 0);
    attributes = PyTuple_GetItem(element, 1);
    if (!PyUnicode_Check(kind) || PyUnicode_CompareWithASCIIString(kind, "a") != 0 || !PyDict_Check(attributes)) {
        return ELSEWHERE;
    }
    href = value_of(attributes, page->href);
    if (href == NULL) {
        return PyErr_Occurred() ? FAILED : ELSEWHERE;
    }
    if (value_of(attributes, page->rel) != NULL || PyErr_Occurred()) {
        return PyErr_Occurred() ? FAILED : ELSEWHERE;
    }
    bytes = ascii(href, &length);
    if (bytes == NULL) {
        return ELSEWHERE;
    }
    fragment = memchr(bytes, '#', (size_t)length);
    length = fragment == NULL ? length : fragment - bytes;
    target = fragment == NULL ? Py_NewRef(href) : PyUnicode_FromStringAndSize(bytes, length);
    if (target == NULL) {
        return FAILED;
    }
    url = url_of(page, target, bytes, length);
    Py_DECREF(target);
    if (url == NULL) {
        return PyErr_Occurred() ? FAILED : ELSEWHERE;
    }
    outcome = url == Py_None ? DONE : add_link(page, url, PyTuple_GetItem(element, 2), kind);
    Py_DECREF(url);
    return outcome;
}

/* How many links there are, each as often as it stands there, but for those that `other` has read; -1 with an error. */
static Py_ssize_t read_all(const Page *page, PyObject *found, PyObject *other) {
    Py_ssize_t counted = 0;
    for (Py_ssize_t at = 0; at < PyList_Size(found); at++) {
        PyObject *element = Py_NewRef(PyList_GetItem(found, at)), *nothing;
        int outcome = read_element(page, element);
        if (outcome == ELSEWHERE) {
            nothing = PyObject_CallFunctionObjArgs(other, element, NULL);
            outcome = nothing == NULL ? FAILED : DONE;
            Py_XDECREF(nothing);
        }
        Py_DECREF(element);
        if (outcome == FAILED) {
            return -1;
        }
        counted += outcome == COUNTED;
    }
    return counted;
}

const char anchors_doc[] = PyDoc_STR(
    "anchors(found, other, targets, links, resolve, made, places, max_length, schemes, longest, /)\n--\n\n"
    "Adds the links of all elements that were found; returns how many of them `other` was not asked for.");

PyObject *anchors(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *found, *other;
    Page page;
    Py_ssize_t counted = -1;
    if (!PyArg_ParseTuple(args, "O!OO!O!O(OO!O!)(UUU)OOn:anchors", &PyList_Type, &found, &other, &PyDict_Type,
                          &page.targets, &PyDict_Type, &page.links, &page.resolve, &page.type, &PyTuple_Type,
                          &page.slots, &PyTuple_Type, &page.defaults, &page.any_origin, &page.origin, &page.directory,
                          &page.max_length, &page.schemes, &page.longest)) {
        return NULL;
    }
    if (look_up_slots(&page) < 0) {
        return NULL;
    }
    page.href = PyUnicode_InternFromString("href");
    page.rel = PyUnicode_InternFromString("rel");
    page.nofollow = PyUnicode_InternFromString("nofollow");
    if (page.href != NULL && page.rel != NULL && page.nofollow != NULL) {
        counted = read_all(&page, found, other);
    }
    Py_DECREF(page.no_arguments);
    Py_XDECREF(page.href);
    Py_XDECREF(page.rel);
    Py_XDECREF(page.nofollow);
    return counted < 0 ? NULL : PyLong_FromSsize_t(counted);
}
