#include "tests/device/fake_libcuda/script.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "tests/device/fake_libcuda/errors.h"

namespace forebay::fake_libcuda {
namespace {

using Json = nlohmann::json;

template <typename T>
void Take(const Json& from, const char* key, T* value) {
  if (from.contains(key)) from.at(key).get_to(*value);
}

int ComputeMode(const std::string& name) {
  if (name == "default") return CU_COMPUTEMODE_DEFAULT;
  if (name == "exclusive_process") return CU_COMPUTEMODE_EXCLUSIVE_PROCESS;
  if (name == "prohibited") return CU_COMPUTEMODE_PROHIBITED;
  throw std::invalid_argument("compute_mode " + name);
}

// Returns a GPU. By default, GPUs differ only in their identity.
GpuScript Gpu(int ordinal, const Json& from) {
  GpuScript gpu;
  char text[64];
  std::snprintf(text, sizeof(text), "f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfe%02x",
                ordinal);
  gpu.uuid = text;
  std::snprintf(text, sizeof(text), "0000:%02X:00.0", 12 + ordinal);
  gpu.pci_address = text;
  Take(from, "uuid", &gpu.uuid);
  Take(from, "name", &gpu.name);
  Take(from, "memory", &gpu.memory);
  Take(from, "major", &gpu.major);
  Take(from, "minor", &gpu.minor);
  Take(from, "pci_address", &gpu.pci_address);
  std::string mode = "default";
  Take(from, "compute_mode", &mode);
  gpu.compute_mode = ComputeMode(mode);
  return gpu;
}

// Reads an error, which is a name or a number, because some numbers have no
// name.
CUresult Error(const Json& from) {
  if (from.is_number()) return static_cast<CUresult>(from.get<int>());
  const auto name = from.get<std::string>();
  const ErrorWords* const words = FindError(name);
  if (words == nullptr) throw std::invalid_argument("error " + name);
  return words->code;
}

FaultScript Fault(const Json& from) {
  FaultScript fault;
  from.at("call").get_to(fault.call);
  Take(from, "first", &fault.first);
  Take(from, "times", &fault.times);
  Take(from, "sticky", &fault.sticky);
  Take(from, "stall", &fault.stall);
  Take(from, "once", &fault.once);
  if (from.contains("error")) fault.error = Error(from.at("error"));
  return fault;
}

Script Parse(const Json& from) {
  Script script;
  Take(from, "driver_version", &script.driver_version);
  Take(from, "granularity", &script.granularity);
  Take(from, "context_bytes", &script.context_bytes);
  Take(from, "mps", &script.mps);
  Take(from, "seed", &script.seed);
  Take(from, "delay_micros", &script.delay_micros);
  Take(from, "log", &script.log);
  const Json one = Json::array({Json::object()});
  for (const Json& gpu : from.contains("gpus") ? from.at("gpus") : one) {
    script.gpus.push_back(Gpu(static_cast<int>(script.gpus.size()), gpu));
  }
  if (from.contains("faults")) {
    for (const Json& fault : from.at("faults"))
      script.faults.push_back(Fault(fault));
  }
  return script;
}

// Returns the GPUs that CUDA_VISIBLE_DEVICES names, by ordinal or by a prefix
// of "GPU-" and the UUID. The list ends at the first name that no GPU has.
std::vector<GpuScript> Visible(std::vector<GpuScript> gpus) {
  const char* const names = std::getenv("CUDA_VISIBLE_DEVICES");
  if (names == nullptr) return gpus;
  std::vector<GpuScript> visible;
  std::istringstream list(names);
  std::string name;
  while (std::getline(list, name, ',')) {
    const std::size_t before = visible.size();
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const bool meant =
          name == std::to_string(i) ||
          (name.size() > 4 && ("GPU-" + gpus[i].uuid).rfind(name, 0) == 0);
      if (meant) visible.push_back(gpus[i]);
    }
    if (visible.size() != before + 1) break;
  }
  return visible;
}

}  // namespace

Script ReadScript() {
  const char* const path = std::getenv("FOREBAY_FAKE_CUDA");
  Script script;
  try {
    Json from = Json::object();
    if (path != nullptr) {
      std::ifstream file(path);
      if (!file) throw std::invalid_argument("it cannot be read");
      from = Json::parse(file);
    }
    script = Parse(from);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "FOREBAY_FAKE_CUDA=%s: %s\n", path, error.what());
    std::abort();
  }
  script.gpus = Visible(std::move(script.gpus));
  return script;
}

}  // namespace forebay::fake_libcuda
