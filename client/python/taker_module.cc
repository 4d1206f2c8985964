// The module _ctaker: takes batches off a loader for Python in fewer steps than
// ctypes needs. Beside it forebay/_taker.py does the same by ctypes, where this
// module cannot be loaded. Compiled once, with the limited API of CPython 3.11:
// for all that follow, and for 3.9 and 3.10, which have everything used here,
// too. Knows libforebay.so by the addresses that it is given alone.
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

// A batch's memory, as a writable buffer; the lease ends with the object.
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

// Waits for the batches of one loader; used by one thread at a time.
struct Taker {
  // NOLINTNEXTLINE(readability-identifier-naming): Python's macro names it
  PyObject_HEAD;
  PyTypeObject* memory_type;
  PyObject* owner;  // keeps loader and view alive
  NextView next_view;
  Release release;
  forebay_loader* loader;
  double seconds;
  forebay_batch_view* view;
  PyObject* kept;  // the batch taken last; None or null: it was handed out
};

template <typename Object>
Object* As(PyObject* object) {
  return reinterpret_cast<Object*>(object);
}

template <typename Function>
void* Slot(Function function) {
  return reinterpret_cast<void*>(function);
}

// --- Memory

void FreeMemory(PyObject* self) {
  Memory* const memory = As<Memory>(self);
  if (memory->batch != nullptr) memory->release(memory->batch);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

int GetMemoryBuffer(PyObject* self, Py_buffer* view, int flags) {
  const Memory* const memory = As<Memory>(self);
  return PyBuffer_FillInfo(view, self, memory->data, memory->bytes,
                           /*readonly=*/0, flags);
}

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
     "Grows when the fields are not those of the batch before."},
    {"next_sample", T_ULONGLONG, offsetof(Memory, next_sample), READONLY,
     "Of this rank's epoch: the sample after the batch's last."},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef memory_methods[] = {
    {"read", ReadMemory, METH_VARARGS, "A copy: offset and length in bytes."},
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
    "forebay._ctaker.Memory", sizeof(Memory), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, memory_slots};

// --- Taker

PyObject* MakeTaker(PyTypeObject* type, PyObject* args, PyObject*) {
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
  Taker* const taker = PyObject_New(Taker, type);
  if (taker == nullptr) {
    Py_DECREF(memory_type);
    return nullptr;
  }
  taker->memory_type = As<PyTypeObject>(memory_type);
  Py_INCREF(owner);
  taker->owner = owner;
  taker->next_view = reinterpret_cast<NextView>(next_view);
  taker->release = reinterpret_cast<Release>(release);
  taker->loader = reinterpret_cast<forebay_loader*>(loader);
  taker->seconds = seconds;
  taker->view = reinterpret_cast<forebay_batch_view*>(view);
  taker->kept = nullptr;
  return reinterpret_cast<PyObject*>(taker);
}

void FreeTaker(PyObject* self) {
  Taker* const taker = As<Taker>(self);
  Py_XDECREF(taker->kept);
  Py_DECREF(taker->owner);
  Py_DECREF(taker->memory_type);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* Take(PyObject* self, PyObject*) {
  Taker* const taker = As<Taker>(self);
  if (taker->kept != nullptr && Py_IsNone(taker->kept) == 0)
    return Py_NewRef(taker->kept);
  // First, so that no batch is lost for want of memory.
  Memory* const memory = PyObject_New(Memory, taker->memory_type);
  if (memory == nullptr) return nullptr;
  memory->batch = nullptr;
  forebay_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = taker->next_view(taker->loader, taker->seconds, taker->view);
  Py_END_ALLOW_THREADS;
  if (status != FOREBAY_OK) {
    Py_DECREF(memory);
    return PyLong_FromLong(status);
  }
  memory->release = taker->release;
  memory->batch = taker->view->batch;
  memory->data = taker->view->data;
  memory->bytes = static_cast<Py_ssize_t>(taker->view->bytes);
  memory->layout = taker->view->layout;
  memory->next_sample = taker->view->next_sample;
  auto* const taken = reinterpret_cast<PyObject*>(memory);
  Py_XDECREF(taker->kept);
  taker->kept = Py_NewRef(taken);
  return taken;
}

PyMemberDef taker_members[] = {
    {"kept", T_OBJECT, offsetof(Taker, kept), 0,
     "The batch taken last, until the caller, who hands it out, sets None."},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef taker_methods[] = {
    {"take", Take, METH_NOARGS,
     "The memory that is kept, else of the next batch, or a status: there is "
     "none."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot taker_slots[] = {
    {Py_tp_doc, const_cast<char*>(
                    "Taker(next_view, release, loader, seconds, view, owner)")},
    {Py_tp_new, Slot(MakeTaker)},
    {Py_tp_dealloc, Slot(FreeTaker)},
    {Py_tp_members, taker_members},
    {Py_tp_methods, taker_methods},
    {0, nullptr},
};

PyType_Spec taker_spec = {"forebay._ctaker.Taker", sizeof(Taker), 0,
                          Py_TPFLAGS_DEFAULT, taker_slots};

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
  return AddType(module, &taker_spec);
}

PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, Slot(FillModule)},
    {0, nullptr},
};

PyModuleDef module_def = {PyModuleDef_HEAD_INIT,
                          "_ctaker",
                          "Takes batches off a native loader.",
                          0,
                          nullptr,
                          module_slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

// NOLINTNEXTLINE(*-reserved-identifier,*-identifier-naming): CPython names it
PyMODINIT_FUNC PyInit__ctaker() { return PyModuleDef_Init(&module_def); }
