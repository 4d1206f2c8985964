#include "cuda/driver_api.h"

#include <dlfcn.h>

// FOREBAY_SYMBOL(function) is the function's symbol as a string literal. If
// cuda.h defines the function's name as a macro for its newest version, the
// literal names that version.
#define FOREBAY_QUOTE(name) #name
#define FOREBAY_SYMBOL(function) FOREBAY_QUOTE(function)

namespace forebay::cuda {
namespace {

// Looks up one symbol. Returns false, with a reason in `why`, if it is missing.
template <typename Function>
bool Find(void* library, const char* symbol, Function* function,
          std::string* why) {
  *function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (*function != nullptr) return true;
  *why =
      std::string("the NVIDIA driver is older than 470: it has no ") + symbol;
  return false;
}

}  // namespace

bool LoadDriverApi(const char* library, DriverApi* api, std::string* why) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* const reason = dlerror();
    *why = std::string("no NVIDIA driver is installed (") +
           (reason == nullptr ? library : reason) + ")";
    return false;
  }
  const auto find = [&](const char* symbol, auto* function) {
    return Find(handle, symbol, function, why);
  };
#define FOREBAY_FIND(name, function) \
  if (!find(FOREBAY_SYMBOL(function), &api->name)) return false;
  FOREBAY_DRIVER_FUNCTIONS(FOREBAY_FIND)
#undef FOREBAY_FIND
  return true;
}

}  // namespace forebay::cuda
