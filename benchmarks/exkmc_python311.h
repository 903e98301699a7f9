/* Read before the C code of ExKMC 0.0.3, which was generated for Python 3.10 and numpy 1. */
#include <Python.h>
#if PY_VERSION_HEX >= 0x030B0000
/* Line numbers of tracebacks are written into the frame, whose layout moved to an internal header. */
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
/* Two more arguments since 3.11: the qualified name and the table of exceptions. */
#define PyCode_New(a, k, l, s, f, code, c, n, v, fv, cell, fn, name, line, lines) \
    PyCode_New(a, k, l, s, f, code, c, n, v, fv, cell, fn, name, name, line, lines, lines)
#endif

#include <numpy/arrayobject.h>
#if NPY_ABI_VERSION >= 0x02000000
/* numpy 2 hides fields that helpers of the generated code name but the package never reads: arrays
   are passed as buffers. It need only compile, and be no larger than numpy's own. */
typedef struct {
    PyObject_HEAD PyTypeObject *typeobj;
    char kind, type, byteorder, former_flags;
    int type_num, elsize;
    PyArray_ArrayDescr *subarray;
    PyObject *fields, *names;
} ExKMC_Descr;
#define PyArray_Descr ExKMC_Descr
#endif
