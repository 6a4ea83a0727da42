// CPython in ULTs that have an identity: each has a thread state of Python's, and takes and gives back the interpreter's lock, as a
// thread does.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdio>
#include <vector>

#include <weft/block.h>
#include <weft/preempt.h>
#include <weft/weft.h>

namespace {

constexpr int kUlts = 32;
constexpr int kRounds = 20;

struct Part {
  int number;
  bool right;
};

// Python's own per-thread values have to be there after each time that the lock was given away.
constexpr const char* kCode =
    "import threading\n"
    "local.value = number\n"
    "me = threading.get_ident()\n"
    "total = sum(len(str(i)) for i in range(2000))\n";
constexpr const char* kCheck = "right = local.value == number and me == threading.get_ident() and total == 6890\n";

bool run(const char* code, PyObject* names) {
  PyObject* const result = PyRun_String(code, Py_file_input, names, names);
  if (result == nullptr) PyErr_Print();
  Py_XDECREF(result);
  return result != nullptr;
}

PyObject* local = nullptr;

void use_python(void* arg) {
  auto* part = static_cast<Part*>(arg);
  part->right = true;
  for (int round = 0; round < kRounds && part->right; ++round) {
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject* const names = PyDict_New();
    PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins());
    PyDict_SetItemString(names, "local", local);
    PyObject* const number = PyLong_FromLong(part->number);
    PyDict_SetItemString(names, "number", number);
    part->right = run(kCode, names);
    Py_BEGIN_ALLOW_THREADS
    weft_yield();
    Py_END_ALLOW_THREADS
    part->right = part->right && run(kCheck, names) && PyDict_GetItemString(names, "right") == Py_True;
    Py_DECREF(number);
    Py_DECREF(names);
    PyGILState_Release(state);
    weft_yield();
  }
}

bool all_right(weft_preemption_mode_t preemption, weft_blocking_mode_t blocking) {
  weft_options_t options{};
  options.workers = 2;
  if (weft_initialize(&options) != WEFT_OK) return false;
  weft_preemption_set_interval(100'000);
  if (weft_preemption_set_mode(preemption) != WEFT_OK || weft_blocking_set_mode(blocking) != WEFT_OK) return false;
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.identity = WEFT_IDENTITY_OWN;
  attr.stack_size = size_t{1} << 20;
  std::vector<Part> parts(kUlts);
  std::vector<weft_unit_t> units(kUlts);
  bool right = true;
  for (int i = 0; i < kUlts; ++i) {
    parts[i].number = i;
    right = weft_ult_create(use_python, &parts[i], &attr, &units[i]) == WEFT_OK && right;
  }
  right = right && weft_free_many(units.size(), units.data()) == WEFT_OK;
  for (const Part& part : parts) right = right && part.right;
  return weft_finalize() == WEFT_OK && right;
}

}  // namespace

int main() {
  Py_InitializeEx(0);
  PyObject* const threading = PyImport_ImportModule("threading");
  local = PyObject_CallMethod(threading, "local", nullptr);
  PyThreadState* const mine = PyEval_SaveThread();
  int failed = 0;
  for (const weft_preemption_mode_t preemption : {WEFT_PREEMPTION_OFF, WEFT_PREEMPTION_ON}) {
    for (const weft_blocking_mode_t blocking : {WEFT_BLOCKING_OFF, WEFT_BLOCKING_ON}) {
      if (preemption == WEFT_PREEMPTION_OFF && blocking == WEFT_BLOCKING_OFF) continue;  // who waits for the lock keeps the worker
      if (all_right(preemption, blocking)) continue;
      std::fprintf(stderr, "python: not right with preemption %d, blocking %d\n", preemption, blocking);
      ++failed;
    }
  }
  PyEval_RestoreThread(mine);
  Py_DECREF(local);
  Py_DECREF(threading);
  return Py_FinalizeEx() == 0 && failed == 0 ? 0 : 1;
}
