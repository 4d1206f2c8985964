#ifndef FOREBAY_CUDA_DRIVER_WORDS_H_
#define FOREBAY_CUDA_DRIVER_WORDS_H_

#include <cuda.h>

#include <string>

#include "cuda/driver_api.h"

namespace forebay::cuda {

// Returns the driver's name and text of an error, or its number if the driver
// does not know it. Thread-safe; never blocks.
std::string DriverWords(const DriverApi& api, CUresult error);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_DRIVER_WORDS_H_
