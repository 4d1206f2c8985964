// A library that loads the plug-in, as libforebay.so does.
#include <string>

#include "client/device/plugin.h"

// Returns why the plug-in was not loaded, or an empty text if it was.
extern "C" const char* forebay_test_load_plugin() {
  static std::string message;
  const forebay::cuda::Plugin* plugin = nullptr;
  message = forebay::client::device::LoadPlugin(&plugin).message;
  return message.c_str();
}
