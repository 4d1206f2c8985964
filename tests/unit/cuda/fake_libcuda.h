#ifndef FOREBAY_TESTS_UNIT_CUDA_FAKE_LIBCUDA_H_
#define FOREBAY_TESTS_UNIT_CUDA_FAKE_LIBCUDA_H_

#include <cuda.h>

// How fake_libcuda.so, which stands for NVIDIA's driver library, is to behave.
struct FakeLibcuda {
  int devices = 2;
  CUresult init_result = CUDA_SUCCESS;
  CUresult count_result = CUDA_SUCCESS;
  CUresult memory_result = CUDA_SUCCESS;  // of the last device
};

extern "C" FakeLibcuda* forebay_fake_libcuda();

#endif  // FOREBAY_TESTS_UNIT_CUDA_FAKE_LIBCUDA_H_
