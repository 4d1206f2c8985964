#ifndef FOREBAY_CUDA_KERNELS_IMAGE_H_
#define FOREBAY_CUDA_KERNELS_IMAGE_H_

namespace forebay::cuda::kernels {

// The fat binary of all kernels, as cuModuleLoadData takes it.
extern "C" const unsigned long long kImage[];

}  // namespace forebay::cuda::kernels

#endif  // FOREBAY_CUDA_KERNELS_IMAGE_H_
