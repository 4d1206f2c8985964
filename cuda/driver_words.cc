#include "cuda/driver_words.h"

namespace forebay::cuda {

std::string DriverWords(const DriverApi& api, CUresult error) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.error_name(error, &name) != CUDA_SUCCESS || name == nullptr) {
    return "error " + std::to_string(error);
  }
  if (api.error_string(error, &text) != CUDA_SUCCESS || text == nullptr) {
    return name;
  }
  return std::string(name) + ": " + text;
}

}  // namespace forebay::cuda
