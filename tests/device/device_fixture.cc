#include "tests/device/device_fixture.h"

#include <cstdlib>

namespace forebay::device_tests {

std::string DriverLibrary() {
  const char* const given = std::getenv("FOREBAY_DRIVER_LIBRARY");
  return given == nullptr ? "tests/device/fake_libcuda/libcuda.so.1" : given;
}

const cuda::DriverApi& Api() {
  static const cuda::DriverApi api = [] {
    cuda::DriverApi loaded;
    std::string why;
    if (!cuda::LoadDriverApi(DriverLibrary().c_str(), &loaded, &why)) {
      FAIL_CHECK(why);
      std::abort();
    }
    return loaded;
  }();
  return api;
}

std::string NameOf(CUresult result) {
  const char* name = nullptr;
  return Api().error_name(result, &name) == CUDA_SUCCESS
             ? name
             : "error " + std::to_string(result);
}

DeviceTest::DeviceTest() {
  FOREBAY_REQUIRE_CUDA(Api().init(0));
  FOREBAY_REQUIRE_CUDA(Api().device(&device_, 0));
  FOREBAY_REQUIRE_CUDA(Api().retain_context(&context_, device_));
  FOREBAY_REQUIRE_CUDA(Api().push_context(context_));
  FOREBAY_REQUIRE_CUDA(
      Api().create_stream(&stream_, CU_STREAM_NON_BLOCKING, 0));
}

DeviceTest::~DeviceTest() {
  if (context_ == nullptr) return;
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().destroy_stream(stream_));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().pop_context(nullptr));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().release_context(device_));
}

CUmemAllocationProp DeviceTest::Exportable() const {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device_;
  return properties;
}

std::size_t DeviceTest::Granularity() const {
  const CUmemAllocationProp properties = Exportable();
  std::size_t bytes = 0;
  FOREBAY_CHECK_CUDA(
      CUDA_SUCCESS,
      Api().granularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  return bytes;
}

std::size_t DeviceTest::FreeMemory() const {
  std::size_t available = 0, total = 0;
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().memory_info(&available, &total));
  return available;
}

void DeviceTest::Write(CUdeviceptr address,
                       const std::vector<unsigned char>& bytes) {
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().copy_to_device(address, bytes.data(),
                                                        bytes.size(), stream_));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().synchronize_stream(stream_));
}

std::vector<unsigned char> DeviceTest::Read(CUdeviceptr address,
                                            std::size_t bytes) {
  std::vector<unsigned char> read(bytes);
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS,
                     Api().copy_to_host(read.data(), address, bytes, stream_));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().synchronize_stream(stream_));
  return read;
}

std::vector<unsigned char> Numbers(std::size_t count, unsigned first) {
  std::vector<unsigned char> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = static_cast<unsigned char>(first + 31 * i + i / 256);
  return numbers;
}

CUresult TryToMap(CUdevice device, CUmemGenericAllocationHandle handle,
                  MappedMemory* memory) {
  CUresult result =
      Api().reserve_address(&memory->address, memory->bytes, 0, 0, 0);
  if (result != CUDA_SUCCESS) return result;
  result = Api().map_memory(memory->address, memory->bytes, 0, handle, 0);
  if (result != CUDA_SUCCESS) return result;
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return Api().set_access(memory->address, memory->bytes, &access, 1);
}

MappedMemory MapMemory(CUdevice device, CUmemGenericAllocationHandle handle,
                       std::size_t bytes) {
  MappedMemory memory{.address = 0, .bytes = bytes};
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, TryToMap(device, handle, &memory));
  return memory;
}

void Unmap(const MappedMemory& memory) {
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS,
                     Api().unmap_memory(memory.address, memory.bytes));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS,
                     Api().free_address(memory.address, memory.bytes));
}

}  // namespace forebay::device_tests
