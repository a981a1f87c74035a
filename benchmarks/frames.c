/* Python's frames by part, so that valgrind can tell them apart: see `profiling.py`.
 *
 * Callgrind sees C functions alone, and all of Python is one of them. So where a frame belongs to another part than
 * its caller, it is run by a C function of its own, `enter_CALLER_PART`, whose costs callgrind counts. */

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE
#include <Python.h>
#include <internal/pycore_frame.h>

#define PARTS 12
#define NO_PART (-1L)

typedef struct _PyInterpreterFrame Frame;
typedef PyObject *Enter(PyThreadState *, Frame *, int);

static Py_ssize_t slot;
static PyObject *part_of;
static PyThreadState *watched;
static long now = 0;

#define ENTER(caller, part)                                                                  \
    static __attribute__((noinline)) PyObject *enter_##caller##_##part(                      \
        PyThreadState *state, Frame *frame, int thrown) {                                    \
        PyObject *result = _PyEval_EvalFrameDefault(state, frame, thrown);                   \
        now = caller;                                                                        \
        return result;                                                                       \
    }
#define EACH(make, a)                                                                        \
    make(a, 0) make(a, 1) make(a, 2) make(a, 3) make(a, 4) make(a, 5)                        \
    make(a, 6) make(a, 7) make(a, 8) make(a, 9) make(a, 10) make(a, 11)
#define ALL(make)                                                                            \
    make(0) make(1) make(2) make(3) make(4) make(5) make(6) make(7) make(8) make(9) make(10) make(11)
#define ENTERS(caller) EACH(ENTER, caller)
#define NAME(caller, part) enter_##caller##_##part,
#define NAMES(caller) {EACH(NAME, caller)},

ALL(ENTERS)
static Enter *const enters[PARTS][PARTS] = {ALL(NAMES)};

static PyObject *run_frame(PyThreadState *state, Frame *frame, int thrown);

/* Asks Python, once for each code. */
static long ask(PyThreadState *state, Frame *frame) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    _PyInterpreterState_SetEvalFrameFunc(state->interp, _PyEval_EvalFrameDefault);
    PyObject *answer = PyObject_CallOneArg(part_of, frame->f_code->co_filename);
    long part = answer == NULL ? NO_PART : PyLong_AsLong(answer);
    Py_XDECREF(answer);
    PyErr_Clear();
    _PyInterpreterState_SetEvalFrameFunc(state->interp, run_frame);
    PyErr_Restore(type, value, traceback);
    return part < PARTS ? part : NO_PART;
}

static PyObject *run_frame(PyThreadState *state, Frame *frame, int thrown) {
    if (state != watched) return _PyEval_EvalFrameDefault(state, frame, thrown);
    void *kept = NULL; /* the part and 2, for 0 says that nothing is kept */
    _PyCode_GetExtra((PyObject *)frame->f_code, slot, &kept);
    if (kept == NULL) {
        kept = (void *)(ask(state, frame) + 2);
        _PyCode_SetExtra((PyObject *)frame->f_code, slot, kept);
    }
    long part = (long)kept - 2, caller = now;
    if (part == NO_PART || part == caller) return _PyEval_EvalFrameDefault(state, frame, thrown);
    now = part;
    return enters[caller][part](state, frame, thrown);
}

static PyObject *watch(PyObject *module, PyObject *function) {
    (void)module;
    part_of = Py_NewRef(function);
    slot = _PyEval_RequestCodeExtraIndex(NULL);
    watched = PyThreadState_Get();
    _PyInterpreterState_SetEvalFrameFunc(watched->interp, run_frame);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"watch", watch, METH_O, "Run frames of this thread by part; `function` gives a file's, or -1 for its caller's."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef frames = {PyModuleDef_HEAD_INIT, .m_name = "frames", .m_size = -1, .m_methods = methods};
PyMODINIT_FUNC PyInit_frames(void) { return PyModule_Create(&frames); }
