#include "tests/device/trainer_fixture.h"

#include "tests/device/device_fixture.h"
#include "tests/device/plugin_on_driver.h"

namespace forebay::device_tests {
namespace {

void CallFunction(void* function) {
  (*static_cast<std::function<void()>*>(function))();
}

}  // namespace

Exported Export(const std::vector<unsigned char>& bytes) {
  const cuda::PluginGpuCalls& calls = PluginOnDriver().gpu;
  Words why;
  cuda::PluginGpu* gpu = nullptr;
  FOREBAY_CHECK_OK(why, calls.open(0, &gpu, why));
  if (gpu == nullptr) return {};
  cuda::PluginMemory memory = {};
  FOREBAY_CHECK_OK(why, calls.allocate(gpu, bytes.size(), &memory, why));
  std::uint64_t copy = 0;
  FOREBAY_CHECK_OK(why, calls.start_copy(gpu, memory.address, bytes.data(),
                                         bytes.size(), &copy, why));
  FOREBAY_CHECK_OK(why, calls.wait(gpu, copy, why));
  calls.free(gpu, &memory);
  calls.close(gpu);
  return {.fd = proto::Fd(memory.fd), .bytes = memory.bytes};
}

Trainer::Trainer() : calls_(PluginOnDriver().trainer) {
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().retain_context(&context_, 0));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().push_context(context_));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS,
                     Api().create_stream(&stream_, CU_STREAM_NON_BLOCKING, 0));
  Words why;
  FOREBAY_CHECK_OK(why, calls_.open(0, &gpu_, why));
}

Trainer::~Trainer() {
  calls_.close(gpu_);
  Api().destroy_stream(stream_);
  Api().pop_context(nullptr);
  Api().release_context(0);
}

std::uint64_t Trainer::Import(const Exported& memory) const {
  Words why;
  std::uint64_t address = 0;
  FOREBAY_CHECK_OK(why, calls_.import_memory(gpu_, memory.fd.get(),
                                             memory.bytes, &address, why));
  return address;
}

std::uint64_t Trainer::Allocate(std::size_t bytes) const {
  CUdeviceptr address = 0;
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().allocate(&address, bytes));
  return address;
}

void Trainer::Write(std::uint64_t address,
                    const std::vector<unsigned char>& bytes) const {
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().copy_to_device(address, bytes.data(),
                                                        bytes.size(), stream_));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().synchronize_stream(stream_));
}

std::vector<unsigned char> Trainer::Read(std::uint64_t address,
                                         std::size_t bytes) const {
  std::vector<unsigned char> read(bytes);
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS,
                     Api().copy_to_host(read.data(), address, bytes, stream_));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().synchronize_stream(stream_));
  return read;
}

std::size_t Trainer::FreeMemory() const {
  std::size_t available = 0, total = 0;
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().memory_info(&available, &total));
  return available;
}

void Trainer::Finish() const {
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().synchronize_context());
}

void Trainer::QueueOnHost(std::function<void()>* function) const {
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().launch_host_function(
                                       stream_, &CallFunction, function));
}

cuda::PluginResult Trainer::CallAfter(std::function<void()>* function,
                                      Words& why) const {
  return calls_.call_after(gpu_, stream_, &CallFunction, function, why);
}

cuda::PluginResult Trainer::Poll() const {
  Words why;
  return calls_.poll(gpu_, why);
}

}  // namespace forebay::device_tests
