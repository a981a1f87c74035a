/* The elements of a page that say something about links, and its text, in one call. sitecrawl/page/markup.py is the twin.

   The tree is lexbor's, from the very library that selectolax brings: its functions are found in there by their names.
   Those whose names end in `_noi` are what lexbor has for callers that were not compiled with its headers, so nothing
   is known here of how its nodes lie in memory. Where a name is missing (another version, a system whose libraries
   hide their names) there is no such reader, and the twin asks selectolax, which makes an object of Python of each node.

   Nodes are visited by a loop, not by recursion, so a deep page takes no more stack than a flat one. */

#include "tree.h"

#include <stdint.h>
#include <string.h>

#ifndef _WIN32
#include <dlfcn.h>
#endif

typedef void Node; /* of lexbor: an element is a node, and so is a document; an attribute is its own */

enum { ELEMENT = 1, TEXT = 3 };        /* types of nodes, as the DOM numbers them */
enum { WITHOUT_EVENTS = 1 };           /* nothing listens to the tree: LexborDocumentOptions.WO_EVENTS */
enum { READ = 2000, KEPT = 200 };      /* characters of a link's text, before and after its white space is collapsed */
enum { KNOWN_TAGS = 512, NAMED = 8 };  /* lexbor's own tags have numbers below; others are addresses */
enum { UNASKED = 0, UNWANTED = 1, FOREIGN = 2, WANTED = 3, TITLE = 4, ANCHOR = 5 };

static struct {
    Node *(*create)(void);
    Node *(*destroy)(Node *document);
    void (*clean)(Node *document);
    void (*set_options)(Node *document, unsigned options);
    unsigned (*parse)(Node *document, const unsigned char *html, size_t size);
    Node *(*root)(Node *document);
    Node *(*body)(Node *document);
    Node *(*first_child)(Node *node);
    Node *(*next)(Node *node);
    Node *(*parent)(Node *node);
    int (*type)(Node *node);
    uintptr_t (*tag)(Node *node);
    const unsigned char *(*name)(Node *element, size_t *length);
    const unsigned char *(*dom_name)(Node *element, size_t *length); /* of HTML in upper case */
    void *(*first_attribute)(Node *element);
    void *(*next_attribute)(void *attribute);
    const unsigned char *(*attribute_name)(void *attribute, size_t *length);
    const unsigned char *(*attribute_value)(void *attribute, size_t *length);
    unsigned char *(*text)(Node *node, size_t *length);
    void *(*free_text)(Node *document, unsigned char *text);
} lexbor;

static const char *const names[] = {
    "lxb_html_document_create",
    "lxb_html_document_destroy",
    "lxb_html_document_clean",
    "lxb_html_document_dom_opt_set_noi",
    "lxb_html_document_parse",
    "lxb_dom_document_root",
    "lxb_html_document_body_element_noi",
    "lxb_dom_node_first_child_noi",
    "lxb_dom_node_next_noi",
    "lxb_dom_node_parent_noi",
    "lxb_dom_node_type_noi",
    "lxb_dom_node_tag_id_noi",
    "lxb_dom_element_qualified_name",
    "lxb_dom_element_tag_name",
    "lxb_dom_element_first_attribute_noi",
    "lxb_dom_element_next_attribute_noi",
    "lxb_dom_attr_qualified_name",
    "lxb_dom_attr_value_noi",
    "lxb_dom_node_text_content",
    "lxb_dom_document_destroy_text_noi",
};

static int is_ready = 0;
static unsigned char kinds[KNOWN_TAGS]; /* by the number of a tag, what its elements are: asked for once */
static Node *spare = NULL; /* an empty document for the next page: making one and a parser takes a fifth of a parse */

const char use_lexbor_doc[] = PyDoc_STR("use_lexbor(path, /)\n--\n\nWhether lexbor's functions are in the library there.");

PyObject *use_lexbor(PyObject *Py_UNUSED(module), PyObject *path) {
    is_ready = 0;
#ifndef _WIN32
    void *(*found[sizeof names / sizeof *names]);
    PyObject *encoded = NULL;
    void *library;
    size_t at;
    if (!PyUnicode_FSConverter(path, &encoded)) {
        return NULL;
    }
    library = dlopen(PyBytes_AsString(encoded), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    Py_DECREF(encoded);
    if (library == NULL) {
        Py_RETURN_FALSE;
    }
    for (at = 0; at < sizeof names / sizeof *names; at++) {
        void *address = dlsym(library, names[at]);
        if (address == NULL) {
            dlclose(library);
            Py_RETURN_FALSE;
        }
        memcpy(&found[at], &address, sizeof address);
    }
    _Static_assert(sizeof found == sizeof lexbor, "a name a function");
    if (spare != NULL) { /* of a library that was found before */
        lexbor.destroy(spare);
        spare = NULL;
    }
    memcpy(&lexbor, found, sizeof lexbor);
    memset(kinds, UNASKED, sizeof kinds);
    is_ready = 1; /* the library stays open: whoever called has it loaded */
#else
    (void)path;
#endif
    return PyBool_FromLong(is_ready);
}

/* What is wanted of a page, and what it is put into. */
typedef struct {
    Node *document;
    PyObject *type;      /* of the elements, a subtype of tuple */
    newfunc make;        /* what makes a tuple of a subtype */
    PyObject *collapsed; /* the twin's function for a text that is not all ASCII */
    PyObject *found;     /* list of the elements */
    Py_ssize_t limit;
    size_t text_size;                /* of the page, in bytes: its text is rarely longer */
    PyObject *common[NAMED], *empty; /* names that stand on most elements, and '' */
} Reader;

static const char *const common_names[NAMED] = {"a", "href", "title", "class", "rel", "id", "content", "name"};

static int kind_of_name(const unsigned char *name, size_t length) {
    static const char *const wanted[] = {"a",     "title",  "svg",  "math", "area", "base",
                                         "embed", "frame", "iframe", "link", "meta", "object"};
    static const int kind[] = {ANCHOR, TITLE, FOREIGN, FOREIGN};
    for (size_t at = 0; at < sizeof wanted / sizeof *wanted; at++) {
        if (strlen(wanted[at]) == length && memcmp(wanted[at], name, length) == 0) {
            return at < sizeof kind / sizeof *kind ? kind[at] : WANTED;
        }
    }
    return UNWANTED;
}

static int kind_of(Node *element) {
    const uintptr_t tag = lexbor.tag(element);
    size_t length = 0;
    const unsigned char *name;
    int kind;
    if (tag < KNOWN_TAGS && kinds[tag] != UNASKED) {
        return kinds[tag];
    }
    name = lexbor.name(element, &length);
    kind = name == NULL ? UNWANTED : kind_of_name(name, length);
    if (tag < KNOWN_TAGS) {
        kinds[tag] = (unsigned char)kind;
    }
    return kind;
}

static PyObject *decoded(const unsigned char *bytes, size_t length) {
    return PyUnicode_DecodeUTF8((const char *)bytes, (Py_ssize_t)length, "replace");
}

/* The str of a name of an element or an attribute, new. */
static PyObject *name_of(const Reader *reader, const unsigned char *name, size_t length) {
    for (size_t at = 0; at < NAMED; at++) {
        if (strlen(common_names[at]) == length && memcmp(common_names[at], name, length) == 0) {
            return Py_NewRef(reader->common[at]);
        }
    }
    return decoded(name, length);
}

static PyObject *attributes_of(const Reader *reader, Node *element) {
    PyObject *attributes = PyDict_New();
    void *attribute = attributes == NULL ? NULL : lexbor.first_attribute(element);
    for (; attribute != NULL; attribute = lexbor.next_attribute(attribute)) {
        size_t length = 0;
        const unsigned char *bytes = lexbor.attribute_name(attribute, &length);
        PyObject *name = bytes == NULL ? PyUnicode_FromString("") : name_of(reader, bytes, length), *value;
        int failed;
        length = 0;
        bytes = lexbor.attribute_value(attribute, &length);
        value = bytes == NULL ? Py_NewRef(Py_None) : decoded(bytes, length);
        failed = name == NULL || value == NULL || PyDict_SetItem(attributes, name, value) < 0;
        Py_XDECREF(name);
        Py_XDECREF(value);
        if (failed) {
            Py_DECREF(attributes);
            return NULL;
        }
    }
    return attributes;
}

static int is_space(unsigned char character) { /* to `str.split`, of ASCII */
    return character == ' ' || (character >= '\t' && character <= '\r') || (character >= 0x1c && character <= 0x1f);
}

/* An ASCII text, its white space collapsed, and at most so many characters of it. */
static PyObject *collapsed_ascii(const unsigned char *text, size_t length) {
    char kept[KEPT];
    size_t size = 0, at = 0;
    while (at < length && size < KEPT) {
        if (is_space(text[at])) {
            at++;
            continue;
        }
        if (size > 0) {
            kept[size++] = ' ';
        }
        while (at < length && !is_space(text[at]) && size < KEPT) {
            kept[size++] = (char)text[at++];
        }
    }
    return PyUnicode_FromStringAndSize(kept, (Py_ssize_t)size);
}

/* The text of an element, as the twin's `collapsed` gives it; new. */
static PyObject *text_of(const Reader *reader, Node *element) {
    size_t length = 0, read, at = 0;
    unsigned char *text = lexbor.text(element, &length);
    PyObject *kept;
    if (text == NULL) {
        return Py_NewRef(reader->empty);
    }
    read = length < READ ? length : READ;
    while (at < read && text[at] < 0x80) {
        at++;
    }
    if (at == read) {
        kept = collapsed_ascii(text, read);
    } else {
        PyObject *whole = decoded(text, length);
        kept = whole == NULL ? NULL : PyObject_CallFunctionObjArgs(reader->collapsed, whole, NULL);
        Py_XDECREF(whole);
    }
    lexbor.free_text(reader->document, text);
    return kept;
}

/* Whether an element that is wanted is one of SVG or MathML. */
static int is_foreign(Node *element) {
    size_t length = 0;
    const unsigned char *name = lexbor.dom_name(element, &length);
    return name != NULL && length > 0 && name[0] >= 'a';
}

/* SVG 1.1 has another name for `href`: -1 with an error. */
static int name_href(const Reader *reader, PyObject *attributes) {
    PyObject *name = PyUnicode_FromString("xlink:href");
    PyObject *value = name == NULL ? NULL : PyDict_GetItemWithError(attributes, name);
    Py_XDECREF(name);
    if (value == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    switch (PyDict_Contains(attributes, reader->common[1])) {
        case 0:
            return PyDict_SetItem(attributes, reader->common[1], value);
        case 1:
            return 0;
        default:
            return -1;
    }
}

/* Adds an element to what was found: 0, or -1 with an error. Takes the reference to `text`. */
static int add(const Reader *reader, Node *element, PyObject *text, int has_xlink) {
    size_t length = 0;
    const unsigned char *bytes = lexbor.name(element, &length);
    PyObject *name = bytes == NULL ? PyUnicode_FromString("") : name_of(reader, bytes, length);
    PyObject *attributes = attributes_of(reader, element), *three = NULL, *arguments = NULL, *made = NULL;
    int failed;
    if (attributes != NULL && has_xlink && name_href(reader, attributes) < 0) {
        Py_CLEAR(attributes);
    }
    if (name != NULL && attributes != NULL && text != NULL) {
        three = PyTuple_Pack(3, name, attributes, text);
    }
    if (three != NULL) {
        arguments = PyTuple_Pack(1, three);
    }
    if (arguments != NULL) {
        made = reader->make((PyTypeObject *)reader->type, arguments, NULL);
    }
    failed = made == NULL || PyList_Append(reader->found, made) < 0;
    Py_XDECREF(name);
    Py_XDECREF(attributes);
    Py_XDECREF(text);
    Py_XDECREF(three);
    Py_XDECREF(arguments);
    Py_XDECREF(made);
    return failed ? -1 : 0;
}

/* The node behind `node` in the order of the document, inside `top`; NULL at the end. */
static Node *following(Node *node, Node *top) {
    Node *next = lexbor.first_child(node);
    if (next != NULL) {
        return next;
    }
    for (; node != NULL && node != top; node = lexbor.parent(node)) {
        next = lexbor.next(node);
        if (next != NULL) {
            return next;
        }
    }
    return NULL;
}

static int find_elements(const Reader *reader, Node *root) {
    int has_foreign = 0;
    for (Node *node = root; node != NULL; node = following(node, root)) {
        int kind, is_of_html;
        if (lexbor.type(node) != ELEMENT || (kind = kind_of(node)) == UNWANTED) {
            continue;
        }
        has_foreign |= kind == FOREIGN;
        is_of_html = !has_foreign || !is_foreign(node);
        if (kind == FOREIGN || (kind != ANCHOR && !is_of_html)) {
            continue;
        }
        if (PyList_Size(reader->found) >= reader->limit) {
            return 0;
        }
        if (add(reader, node, kind >= TITLE ? text_of(reader, node) : Py_NewRef(reader->empty), !is_of_html) < 0) {
            return -1;
        }
    }
    return 0;
}

/* `<html>`, if it declares a language, comes before all others and counts as none of them. */
static int find_root(const Reader *reader, Node *root, PyObject *found) {
    Reader alone = *reader;
    void *attribute = lexbor.first_attribute(root);
    for (; attribute != NULL; attribute = lexbor.next_attribute(attribute)) {
        size_t length = 0;
        const unsigned char *name = lexbor.attribute_name(attribute, &length);
        if (length == 4 && memcmp(name, "lang", 4) == 0) {
            alone.found = found;
            return add(&alone, root, Py_NewRef(reader->empty), 0);
        }
    }
    return 0;
}

typedef struct {
    char *bytes;
    size_t length, room;
} Buffer;

static int append(Buffer *buffer, const unsigned char *text, size_t length) {
    if (length + 1 > buffer->room - buffer->length) {
        const size_t room = 2 * buffer->room + length + 1;
        char *bytes = PyMem_Realloc(buffer->bytes, room);
        if (bytes == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        buffer->bytes = bytes;
        buffer->room = room;
    }
    memcpy(buffer->bytes + buffer->length, text, length);
    buffer->length += length;
    return 0;
}

/* The texts of all nodes below `body`, a space between two; new. */
static PyObject *all_text(const Reader *reader, Node *body) {
    Buffer buffer = {PyMem_Malloc(reader->text_size + 1), 0, reader->text_size + 1};
    PyObject *whole;
    int is_first = 1;
    if (buffer.bytes == NULL) {
        return PyErr_NoMemory();
    }
    for (Node *node = body; node != NULL; node = following(node, body)) {
        size_t length = 0;
        unsigned char *text;
        int failed;
        if (lexbor.type(node) != TEXT || (text = lexbor.text(node, &length)) == NULL) {
            continue;
        }
        failed = (!is_first && append(&buffer, (const unsigned char *)" ", 1) < 0) || append(&buffer, text, length) < 0;
        is_first = 0;
        if (failed) { /* the copy of the text goes with the document */
            PyMem_Free(buffer.bytes);
            return NULL;
        }
    }
    whole = buffer.length == 0 ? Py_NewRef(reader->empty) : decoded((unsigned char *)buffer.bytes, buffer.length);
    PyMem_Free(buffer.bytes);
    return whole;
}

/* Whether a byte sequence is somewhere in there. */
static int contains(const char *bytes, size_t length, const char *wanted) {
    const size_t size = strlen(wanted);
    const char *at = bytes, *end = bytes + length;
    for (; (at = memchr(at, wanted[0], (size_t)(end - at))) != NULL; at++) {
        if ((size_t)(end - at) >= size && memcmp(at, wanted, size) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Whether the name of a template begins here. */
static int names_template(const char *at, const char *end) {
    static const char name[] = "template";
    size_t letter = 0;
    while (name[letter] != 0 && at + letter < end && (at[letter] | 0x20) == name[letter]) {
        letter++;
    }
    return name[letter] == 0;
}

/* Whether a page may get a tree as it is: with at most so many tags, and no template that its parent shows, which the
   twin calls by another name before. */
static int is_plain(const char *html, size_t length, Py_ssize_t most_tags) {
    const char *at = html, *end = html + length;
    int has_template = 0;
    for (; (at = memchr(at, '<', (size_t)(end - at))) != NULL; at++) {
        if (--most_tags < 0) {
            return 0;
        }
        has_template |= (end - at > 1 && (at[1] | 0x20) == 't') && names_template(at + 1, end);
    }
    return !has_template || !contains(html, length, "shadowrootmode");
}

/* (elements, text), new. */
static PyObject *read_tree(Reader *reader, const char *html, size_t length) {
    PyObject *first = PyList_New(0), *text = NULL, *read = NULL, *all = NULL;
    unsigned status;
    reader->found = PyList_New(0);
    if (first == NULL || reader->found == NULL) {
        goto done;
    }
    lexbor.set_options(reader->document, WITHOUT_EVENTS);
    Py_BEGIN_ALLOW_THREADS
    status = lexbor.parse(reader->document, (const unsigned char *)html, length);
    Py_END_ALLOW_THREADS
    if (status != 0) { /* the twin says what it is */
        read = Py_NewRef(Py_None);
        goto done;
    }
    Node *root = lexbor.root(reader->document), *body = lexbor.body(reader->document);
    if (root != NULL && (find_root(reader, root, first) < 0 || find_elements(reader, root) < 0)) {
        goto done;
    }
    text = body == NULL ? Py_NewRef(reader->empty) : all_text(reader, body);
    all = text == NULL ? NULL : PySequence_InPlaceConcat(first, reader->found);
    read = all == NULL ? NULL : PyTuple_Pack(2, all, text);
done:
    Py_XDECREF(all);
    Py_XDECREF(text);
    Py_XDECREF(first);
    Py_CLEAR(reader->found);
    return read;
}

/* The spare document, or a new one; NULL with an error. */
static Node *take_document(void) {
    Node *document = spare == NULL ? lexbor.create() : spare;
    spare = NULL; /* parsing lets other threads go on */
    return document == NULL ? (Node *)PyErr_NoMemory() : document;
}

/* Empties a document whose page was read; only after this beginning it is in no quirks mode, which lexbor keeps. */
static void give_back(Node *document, int was_read, const char *html, size_t length) {
    static const char standard[] = "<!doctype html>";
    const size_t size = sizeof standard - 1;
    if (spare == NULL && was_read && length >= size && PyOS_mystrnicmp(html, standard, (Py_ssize_t)size) == 0) {
        lexbor.clean(document);
        spare = document;
    } else {
        lexbor.destroy(document);
    }
}

const char tree_doc[] = PyDoc_STR(
    "tree(html, most_tags, limit, type, collapsed, /)\n--\n\n"
    "The first `limit` elements of a page in UTF-8, each a `type`, and its text; None where the twin has to look:\n"
    "without lexbor, where there are more tags, or a template that may be shown.");

PyObject *tree(PyObject *Py_UNUSED(module), PyObject *args) {
    Reader reader = {0};
    const char *html;
    Py_ssize_t length, most_tags;
    PyObject *read = NULL;
    int is_whole = 1;
    if (!PyArg_ParseTuple(args, "y#nnOO:tree", &html, &length, &most_tags, &reader.limit, &reader.type,
                          &reader.collapsed)) {
        return NULL;
    }
    if (!is_ready || !is_plain(html, (size_t)length, most_tags)) {
        Py_RETURN_NONE;
    }
    if (!PyType_Check(reader.type) || !PyType_IsSubtype((PyTypeObject *)reader.type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "an element is a tuple");
        return NULL;
    }
    reader.make = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
    reader.text_size = (size_t)length;
    reader.empty = PyUnicode_InternFromString("");
    for (size_t at = 0; at < NAMED; at++) {
        reader.common[at] = PyUnicode_InternFromString(common_names[at]);
        is_whole &= reader.common[at] != NULL;
    }
    if (is_whole && reader.empty != NULL) {
        reader.document = take_document();
        if (reader.document != NULL) {
            read = read_tree(&reader, html, (size_t)length);
            give_back(reader.document, read != NULL && read != Py_None, html, (size_t)length);
        }
    }
    Py_XDECREF(reader.empty);
    for (size_t at = 0; at < NAMED; at++) {
        Py_XDECREF(reader.common[at]);
    }
    return read;
}
