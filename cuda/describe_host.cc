#include "cuda/describe_host.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cuda/driver_words.h"

namespace forebay::cuda {
namespace {

// Writes a text into a field, cut to the field's size.
template <std::size_t kSize>
void Write(const std::string& text, char (&field)[kSize]) {
  std::snprintf(field, kSize, "%s", text.c_str());
}

// Returns a UUID's hexadecimal digits, in groups of 8-4-4-4-12.
std::string FormatUuid(const CUuuid& uuid) {
  std::string text;
  for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x",
                  static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

// Returns a PCI address in lower case, as the kernel writes it. Some drivers
// write capitals.
std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Returns the first word of a small file; empty if the file has none or cannot
// be read.
std::string ReadWord(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return "";
  char word[64] = {};
  const bool found = std::fscanf(file, "%63s", word) == 1;
  std::fclose(file);
  return found ? word : "";
}

// Returns the NUMA node of a PCI device; -1 if it is not known.
int NumaNode(const std::string& sys, const std::string& pci_address) {
  const std::string node =
      ReadWord(sys + "/bus/pci/devices/" + pci_address + "/numa_node");
  return node.empty() ? -1 : std::atoi(node.c_str());
}

// Describes a GPU in `out`, or returns the driver's first error.
CUresult DescribeDevice(const DriverApi& api, const std::string& sys,
                        int ordinal, PluginDevice* out) {
  *out = {};
  CUdevice device = 0;
  CUuuid uuid = {};
  std::size_t memory = 0;
  char pci[sizeof(out->pci_address)] = {};
  CUresult code = api.device(&device, ordinal);
  const auto then = [&code](auto function, auto... arguments) {
    if (code == CUDA_SUCCESS) code = function(arguments...);
  };
  then(api.name, out->name, static_cast<int>(sizeof(out->name)), device);
  then(api.uuid, &uuid, device);
  then(api.total_memory, &memory, device);
  then(api.attribute, &out->compute_major,
       CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  then(api.attribute, &out->compute_minor,
       CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  then(api.attribute, &out->compute_mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE,
       device);
  then(api.pci_address, pci, static_cast<int>(sizeof(pci)), device);
  if (code != CUDA_SUCCESS) return code;
  // Drivers before CUDA 12 do not know this attribute.
  if (api.attribute(&out->mps, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device) !=
      CUDA_SUCCESS) {
    out->mps = 0;
  }
  const std::string address = LowerCase(pci);
  Write(FormatUuid(uuid), out->uuid);
  Write(address, out->pci_address);
  out->memory_bytes = memory;
  out->numa_node = NumaNode(sys, address);
  return CUDA_SUCCESS;
}

}  // namespace

bool DescribeHost(const DriverApi& api, const std::string& sys,
                  PluginHost* host, PluginDevice* devices,
                  std::int32_t capacity, std::string* why) {
  *host = {};
  const auto fail = [&](const std::string& what, CUresult code) {
    *why = what + " (" + DriverWords(api, code) + ")";
    return false;
  };
  CUresult code = api.init(0);
  if (code == CUDA_SUCCESS) code = api.driver_version(&host->cuda_version);
  if (code == CUDA_SUCCESS) code = api.device_count(&host->device_count);
  if (code == CUDA_ERROR_NO_DEVICE) {
    return fail("the NVIDIA driver finds no GPU", code);
  }
  if (code != CUDA_SUCCESS)
    return fail("the NVIDIA driver does not work", code);
  Write(ReadWord(sys + "/module/nvidia/version"), host->driver_version);
  for (int i = 0; i < std::min(host->device_count, capacity); ++i) {
    code = DescribeDevice(api, sys, i, &devices[i]);
    if (code != CUDA_SUCCESS) {
      return fail("the NVIDIA driver cannot describe GPU " + std::to_string(i),
                  code);
    }
  }
  return true;
}

}  // namespace forebay::cuda
