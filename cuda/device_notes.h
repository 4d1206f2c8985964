#ifndef FOREBAY_CUDA_DEVICE_NOTES_H_
#define FOREBAY_CUDA_DEVICE_NOTES_H_

#include <string>
#include <vector>

#include "cuda/driver.h"

namespace forebay::cuda {

// Returns notes on a GPU for people, as sentences. They say how the GPU's
// compute mode, MPS, MIG or age affects its use for batches. The caller prints
// them behind the GPU's name. Thread-safe; never blocks.
std::vector<std::string> NotesOn(const DeviceInfo& device);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_DEVICE_NOTES_H_
