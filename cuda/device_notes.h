#ifndef FOREBAY_CUDA_DEVICE_NOTES_H_
#define FOREBAY_CUDA_DEVICE_NOTES_H_

#include <string>
#include <vector>

#include "cuda/device.h"

namespace forebay::cuda {

// Says how a GPU serves batches less well, or otherwise, than most do: a
// sentence each, which goes on from the GPU's name. Thread-safe; never blocks.
std::vector<std::string> NotesOn(const DeviceInfo& device);

}  // namespace forebay::cuda

#endif  // FOREBAY_CUDA_DEVICE_NOTES_H_
