// The module _cbatch_reader reads a loader's batches for Python in fewer steps
// than ctypes needs. Where it cannot be loaded, forebay/_batch_reader.py does
// the same by ctypes.
//
// The module is compiled once, with the limited API of CPython 3.11, for
// version 3.11 and later. Python 3.9 and 3.10 also load it, because they have
// everything that it uses. The module does not link libforebay.so: Python
// passes it the addresses of two functions, so that module and ctypes use the
// same library.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000

#include <python3.11/Python.h>
#include <python3.11/structmember.h>
#include <stddef.h>
#include <stdint.h>

#include "client/forebay.h"

namespace {

using NextView = decltype(&forebay_loader_next_view);
using Release = decltype(&forebay_batch_release);

// The Python object of a batch's memory, a writable buffer. The batch's lease
// ends with the object; NumPy arrays that share the memory keep it alive.
struct Memory {
  // NOLINTNEXTLINE(readability-identifier-naming): Python's macro names it
  PyObject_HEAD;
  Release release;
  forebay_batch* batch;
  void* data;
  Py_ssize_t bytes;
  unsigned long long layout;       // NOLINT(google-runtime-int): as T_ULONGLONG
  unsigned long long next_sample;  // NOLINT(google-runtime-int): as T_ULONGLONG
};

// The Python object that waits for the batches of a loader. One thread at a
// time may use the object. Other Python threads run while it waits.
struct BatchReader {
  // NOLINTNEXTLINE(readability-identifier-naming): Python's macro names it
  PyObject_HEAD;
  PyTypeObject* memory_type;
  PyObject* owner;  // a Python object that keeps loader and view alive
  NextView next_view;
  Release release;
  forebay_loader* loader;
  double seconds;            // the timeout of a wait
  forebay_batch_view* view;  // Python reads the layouts of the fields here
  // The batch that was read last; None or null once the caller has handed it
  // out. If an exception, such as a signal's, comes between reading and handing
  // out, no batch is lost.
  PyObject* pending;
};

// Casts a Python object to its C struct, which begins with the object's header.
template <typename Object>
Object* As(PyObject* object) {
  return reinterpret_cast<Object*>(object);
}

// Converts a function to void*, the type that CPython's slot tables hold.
template <typename Function>
void* Slot(Function function) {
  return reinterpret_cast<void*>(function);
}

// --- Memory

void FreeMemory(PyObject* self) {
  Memory* const memory = As<Memory>(self);
  if (memory->batch != nullptr) memory->release(memory->batch);
  // Objects of heap types own a reference to their type.
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

int GetMemoryBuffer(PyObject* self, Py_buffer* view, int flags) {
  const Memory* const memory = As<Memory>(self);
  return PyBuffer_FillInfo(view, self, memory->data, memory->bytes,
                           /*readonly=*/0, flags);
}

// Copies bytes of the batch. Python computes the offset from the layout, so a
// range outside the batch is an IndexError.
PyObject* ReadMemory(PyObject* self, PyObject* args) {
  const Memory* const memory = As<Memory>(self);
  Py_ssize_t offset;
  Py_ssize_t length;
  if (PyArg_ParseTuple(args, "nn", &offset, &length) == 0) return nullptr;
  if (offset < 0 || length < 0 || offset > memory->bytes ||
      length > memory->bytes - offset) {
    PyErr_SetString(PyExc_IndexError, "outside the batch");
    return nullptr;
  }
  return PyBytes_FromStringAndSize(
      static_cast<const char*>(memory->data) + offset, length);
}

PyMemberDef memory_members[] = {
    {"layout", T_ULONGLONG, offsetof(Memory, layout), READONLY,
     "Grows when the fields differ from those of the batch before."},
    {"batch", T_ULONGLONG, offsetof(Memory, batch), READONLY,
     "The address of the batch."},
    {"next_sample", T_ULONGLONG, offsetof(Memory, next_sample), READONLY,
     "The sample after the batch's last, in this rank's epoch."},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef memory_methods[] = {
    {"read", ReadMemory, METH_VARARGS, "Copies bytes: offset and length."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot memory_slots[] = {
    {Py_tp_doc, const_cast<char*>("The memory of a leased batch.")},
    {Py_tp_dealloc, Slot(FreeMemory)},
    {Py_bf_getbuffer, Slot(GetMemoryBuffer)},
    {Py_tp_members, memory_members},
    {Py_tp_methods, memory_methods},
    {0, nullptr},
};

PyType_Spec memory_spec = {
    "forebay._cbatch_reader.Memory", sizeof(Memory), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, memory_slots};

// --- BatchReader

PyObject* MakeBatchReader(PyTypeObject* type, PyObject* args, PyObject*) {
  unsigned long long next_view;  // NOLINT(google-runtime-int): as "K" asks
  unsigned long long release;    // NOLINT(google-runtime-int): as "K" asks
  unsigned long long loader;     // NOLINT(google-runtime-int): as "K" asks
  unsigned long long view;       // NOLINT(google-runtime-int): as "K" asks
  double seconds;
  PyObject* owner;
  if (PyArg_ParseTuple(args, "KKKdKO", &next_view, &release, &loader, &seconds,
                       &view, &owner) == 0)
    return nullptr;
  PyObject* const module = PyType_GetModule(type);
  if (module == nullptr) return nullptr;
  PyObject* const memory_type = PyObject_GetAttrString(module, "Memory");
  if (memory_type == nullptr) return nullptr;
  BatchReader* const reader = PyObject_New(BatchReader, type);
  if (reader == nullptr) {
    Py_DECREF(memory_type);
    return nullptr;
  }
  reader->memory_type = As<PyTypeObject>(memory_type);
  Py_INCREF(owner);
  reader->owner = owner;
  reader->next_view = reinterpret_cast<NextView>(next_view);
  reader->release = reinterpret_cast<Release>(release);
  reader->loader = reinterpret_cast<forebay_loader*>(loader);
  reader->seconds = seconds;
  reader->view = reinterpret_cast<forebay_batch_view*>(view);
  reader->pending = nullptr;
  return reinterpret_cast<PyObject*>(reader);
}

void FreeBatchReader(PyObject* self) {
  BatchReader* const reader = As<BatchReader>(self);
  Py_XDECREF(reader->pending);
  Py_DECREF(reader->owner);
  Py_DECREF(reader->memory_type);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

// Returns the pending batch's Memory, or waits for the next batch without the
// interpreter's lock. Returns the status as an int if there is no batch.
PyObject* Next(PyObject* self, PyObject*) {
  BatchReader* const reader = As<BatchReader>(self);
  if (reader->pending != nullptr && Py_IsNone(reader->pending) == 0)
    return Py_NewRef(reader->pending);
  // The object is made before the wait, so that a lack of memory loses no
  // batch.
  Memory* const memory = PyObject_New(Memory, reader->memory_type);
  if (memory == nullptr) return nullptr;
  memory->batch = nullptr;
  forebay_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = reader->next_view(reader->loader, reader->seconds, reader->view);
  Py_END_ALLOW_THREADS;
  if (status != FOREBAY_OK) {
    Py_DECREF(memory);
    return PyLong_FromLong(status);
  }
  memory->release = reader->release;
  memory->batch = reader->view->batch;
  memory->data = reader->view->data;
  memory->bytes = static_cast<Py_ssize_t>(reader->view->bytes);
  memory->layout = reader->view->layout;
  memory->next_sample = reader->view->next_sample;
  auto* const made = reinterpret_cast<PyObject*>(memory);
  Py_XDECREF(reader->pending);
  reader->pending = Py_NewRef(made);
  return made;
}

PyMemberDef batch_reader_members[] = {
    {"pending", T_OBJECT, offsetof(BatchReader, pending), 0,
     "The batch read last. The caller sets None when it hands the batch out."},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef batch_reader_methods[] = {
    {"next", Next, METH_NOARGS,
     "Returns the pending memory, else the next batch's, or a status if there "
     "is none."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot batch_reader_slots[] = {
    {Py_tp_doc,
     const_cast<char*>(
         "BatchReader(next_view, release, loader, seconds, view, owner)")},
    {Py_tp_new, Slot(MakeBatchReader)},
    {Py_tp_dealloc, Slot(FreeBatchReader)},
    {Py_tp_members, batch_reader_members},
    {Py_tp_methods, batch_reader_methods},
    {0, nullptr},
};

PyType_Spec batch_reader_spec = {"forebay._cbatch_reader.BatchReader",
                                 sizeof(BatchReader), 0, Py_TPFLAGS_DEFAULT,
                                 batch_reader_slots};

// --- The module

int AddType(PyObject* module, PyType_Spec* spec) {
  PyObject* const type = PyType_FromModuleAndSpec(module, spec, nullptr);
  if (type == nullptr) return -1;
  const int added = PyModule_AddType(module, As<PyTypeObject>(type));
  Py_DECREF(type);
  return added;
}

int FillModule(PyObject* module) {
  if (AddType(module, &memory_spec) < 0) return -1;
  return AddType(module, &batch_reader_spec);
}

PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, Slot(FillModule)},
    {0, nullptr},
};

PyModuleDef module_def = {PyModuleDef_HEAD_INIT,
                          "_cbatch_reader",
                          "Reads batches of a native loader.",
                          0,
                          nullptr,
                          module_slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

// NOLINTNEXTLINE(*-reserved-identifier,*-identifier-naming): CPython names it
PyMODINIT_FUNC PyInit__cbatch_reader() { return PyModuleDef_Init(&module_def); }
