#include "tests/device/fake_libcuda/kernels.h"

#include <cstring>

#include "cuda/kernels/tail_kernel.h"

namespace forebay::fake_libcuda {
namespace {

using cuda::kernels::TailArguments;

CUdeviceptr Address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

CUresult RunTail(const std::vector<unsigned char>& argument,
                 std::uint64_t threads, const AddressSpace& space,
                 const std::string& uuid) {
  TailArguments arguments;
  std::memcpy(&arguments, argument.data(), sizeof(arguments));
  const std::uint64_t values =
      arguments.images * arguments.image_pixels * arguments.colors;
  const Found in = space.Find(Address(arguments.pixels), values, uuid, false);
  const Found out = space.Find(Address(arguments.elements),
                               values * arguments.element_bytes, uuid, true);
  if (in.data == nullptr || out.data == nullptr)
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (Address(arguments.pixels) % 4 != 0 ||
      Address(arguments.elements) % 16 != 0)
    return CUDA_ERROR_MISALIGNED_ADDRESS;
  arguments.pixels = reinterpret_cast<const std::uint8_t*>(in.data);
  arguments.elements = out.data;
  for (std::uint64_t thread = 0; thread < threads; ++thread)
    cuda::kernels::Tail(arguments, arguments.table, thread, threads);
  return CUDA_SUCCESS;
}

constexpr Kernel kKernels[] = {
    {cuda::kernels::kTailName, sizeof(TailArguments), &RunTail},
};

}  // namespace

const Kernel* FindKernel(std::string_view name) {
  for (const Kernel& kernel : kKernels) {
    if (name == kernel.name) return &kernel;
  }
  return nullptr;
}

}  // namespace forebay::fake_libcuda
