// Tests of the driver's behaviour that Forebay relies on. The fake driver
// passes them in every run of the tests, NVIDIA's on a machine with a GPU.
#include <cuda.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "proto/fd.h"
#include "tests/catch/catch.h"
#include "tests/catch/runner.h"
#include "tests/device/device_fixture.h"

namespace forebay::device_tests {
namespace {

constexpr int kPeersFd = 33;

class DriverTest : public DeviceTest {
 protected:
  CUmemGenericAllocationHandle Create(std::size_t bytes) {
    const CUmemAllocationProp properties = Exportable();
    CUmemGenericAllocationHandle handle = 0;
    FOREBAY_CHECK_CUDA(CUDA_SUCCESS,
                       Api().create_memory(&handle, bytes, &properties, 0));
    return handle;
  }

  proto::Fd Export(CUmemGenericAllocationHandle handle) {
    int fd = -1;
    FOREBAY_CHECK_CUDA(
        CUDA_SUCCESS,
        Api().export_memory(&fd, handle,
                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return proto::Fd(fd);
  }
};

TEST_CASE_METHOD(DriverTest, "Bytes go through the driver to the GPU and back",
                 "[device][driver_conformance]") {
  CUdeviceptr address = 0;
  FOREBAY_REQUIRE_CUDA(Api().allocate(&address, 1000));
  const std::vector<unsigned char> numbers = Numbers(1000);
  Write(address, numbers);
  CHECK(
      Read(address + 100, 800) ==
      std::vector<unsigned char>(numbers.begin() + 100, numbers.begin() + 900));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().free(address));
}

TEST_CASE_METHOD(DriverTest,
                 "The driver copies registered memory without waiting",
                 "[device][driver_conformance]") {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  void* const host = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(host != MAP_FAILED);
  FOREBAY_REQUIRE_CUDA(Api().register_host(host, kBytes, 0));
  FOREBAY_CHECK_CUDA(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                     Api().register_host(host, kBytes, 0));
  const std::vector<unsigned char> numbers = Numbers(kBytes);
  std::memcpy(host, numbers.data(), kBytes);
  CUdeviceptr address = 0;
  FOREBAY_REQUIRE_CUDA(Api().allocate(&address, kBytes));
  CUevent done = nullptr;
  FOREBAY_REQUIRE_CUDA(Api().create_event(
      &done, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().query_event(done));
  FOREBAY_REQUIRE_CUDA(Api().copy_to_device(address, host, kBytes, stream_));
  FOREBAY_REQUIRE_CUDA(Api().record_event(done, stream_));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().synchronize_event(done));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().query_event(done));
  CHECK(Read(address, kBytes) == numbers);
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().destroy_event(done));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().free(address));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().unregister_host(host));
  FOREBAY_CHECK_CUDA(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                     Api().unregister_host(host));
  munmap(host, kBytes);
}

TEST_CASE_METHOD(
    DriverTest,
    "The driver reads pageable memory before the call of a copy returns",
    "[device][driver_conformance]") {
  CUdeviceptr address = 0;
  FOREBAY_REQUIRE_CUDA(Api().allocate(&address, 1000));
  std::vector<unsigned char> numbers = Numbers(1000);
  FOREBAY_REQUIRE_CUDA(
      Api().copy_to_device(address, numbers.data(), 1000, stream_));
  std::fill(numbers.begin(), numbers.end(), 0);
  CHECK(Read(address, 1000) == Numbers(1000));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().free(address));
}

TEST_CASE_METHOD(
    DriverTest, "Memory that the driver exports and imports is the same memory",
    "[device][driver_conformance]") {
  const std::size_t bytes = Granularity();
  const CUmemGenericAllocationHandle handle = Create(bytes);
  const proto::Fd fd = Export(handle);
  CUmemGenericAllocationHandle imported = 0;
  FOREBAY_REQUIRE_CUDA(Api().import_memory(
      &imported, reinterpret_cast<void*>(std::intptr_t{fd.get()}),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  const MappedMemory first = MapMemory(device_, handle, bytes);
  const MappedMemory second = MapMemory(device_, imported, bytes);
  CHECK(first.address != second.address);
  Write(first.address, Numbers(5000));
  CHECK(Read(second.address, 5000) == Numbers(5000));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().release_memory(handle));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().release_memory(imported));
  Unmap(first);
  CHECK(Read(second.address, 5000) == Numbers(5000));
  Unmap(second);
}

TEST_CASE_METHOD(DriverTest,
                 "The driver's memory lives until its last handle or "
                 "descriptor or mapping is gone",
                 "[device][driver_conformance]") {
  const std::size_t bytes = 4 * Granularity();
  const std::size_t before = FreeMemory();
  const CUmemGenericAllocationHandle handle = Create(bytes);
  const MappedMemory memory = MapMemory(device_, handle, bytes);
  proto::Fd fd = Export(handle);
  CHECK(FreeMemory() <= before - bytes);
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().release_memory(handle));
  CHECK(FreeMemory() <= before - bytes);
  Unmap(memory);
  CHECK(FreeMemory() <= before - bytes);
  fd.Close();
  CHECK(FreeMemory() == before);
}

TEST_CASE_METHOD(DriverTest,
                 "The driver refuses requests for memory that make no sense",
                 "[device][driver_conformance]") {
  const std::size_t bytes = Granularity();
  const CUmemAllocationProp properties = Exportable();
  CUmemGenericAllocationHandle handle = 0;
  FOREBAY_CHECK_CUDA(CUDA_ERROR_INVALID_VALUE,
                     Api().create_memory(&handle, bytes + 1, &properties, 0));
  FOREBAY_CHECK_CUDA(
      CUDA_ERROR_OUT_OF_MEMORY,
      Api().create_memory(&handle, std::size_t{1} << 42, &properties, 0));
  handle = Create(bytes);
  CUdeviceptr address = 0;
  FOREBAY_REQUIRE_CUDA(Api().reserve_address(&address, 2 * bytes, 0, 0, 0));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS,
                     Api().map_memory(address, bytes, 0, handle, 0));
  FOREBAY_CHECK_CUDA(CUDA_ERROR_INVALID_VALUE,
                     Api().map_memory(address, bytes, 0, handle, 0));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().unmap_memory(address, bytes));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().free_address(address, 2 * bytes));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().release_memory(handle));
  const proto::Fd file(memfd_create("file", MFD_CLOEXEC));
  CHECK(Api().import_memory(
            &handle, reinterpret_cast<void*>(std::intptr_t{file.get()}),
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != CUDA_SUCCESS);
}

TEST_CASE_METHOD(DriverTest,
                 "The driver's streams wait for events of other streams",
                 "[device][driver_conformance]") {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  std::vector<unsigned char> host = Numbers(kBytes);
  FOREBAY_REQUIRE_CUDA(Api().register_host(host.data(), kBytes, 0));
  CUdeviceptr address = 0;
  FOREBAY_REQUIRE_CUDA(Api().allocate(&address, kBytes));
  CUstream other = nullptr;
  FOREBAY_REQUIRE_CUDA(Api().create_stream(&other, CU_STREAM_NON_BLOCKING, 0));
  CUevent copied = nullptr;
  FOREBAY_REQUIRE_CUDA(Api().create_event(&copied, CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < 8; ++i) {
    host[kBytes - 1] = static_cast<unsigned char>(i);
    FOREBAY_REQUIRE_CUDA(
        Api().copy_to_device(address, host.data(), kBytes, stream_));
    FOREBAY_REQUIRE_CUDA(Api().record_event(copied, stream_));
    FOREBAY_REQUIRE_CUDA(Api().wait_event(other, copied, 0));
    std::vector<unsigned char> last(1);
    FOREBAY_REQUIRE_CUDA(
        Api().copy_to_host(last.data(), address + kBytes - 1, 1, other));
    FOREBAY_REQUIRE_CUDA(Api().synchronize_stream(other));
    CHECK(last[0] == i);
  }
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().destroy_event(copied));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().destroy_stream(other));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().free(address));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().unregister_host(host.data()));
}

struct Seen {
  std::atomic<int> runs{0};
  CUevent event = nullptr;
  CUresult told = CUDA_SUCCESS;
};

void CUDA_CB SeeWhatIsAllowed(void* argument) {
  auto* const seen = static_cast<Seen*>(argument);
  seen->told = Api().query_event(seen->event);
  ++seen->runs;
}

TEST_CASE_METHOD(
    DriverTest,
    "A host function runs in its stream's order and may not call the driver",
    "[device][driver_conformance]") {
  Seen seen;
  FOREBAY_REQUIRE_CUDA(
      Api().create_event(&seen.event, CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < 3; ++i) {
    FOREBAY_REQUIRE_CUDA(
        Api().launch_host_function(stream_, &SeeWhatIsAllowed, &seen));
  }
  FOREBAY_REQUIRE_CUDA(Api().synchronize_stream(stream_));
  CHECK(seen.runs == 3);
  FOREBAY_CHECK_CUDA(CUDA_ERROR_NOT_PERMITTED, seen.told);
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().destroy_event(seen.event));
}

TEST_CASE_METHOD(DriverTest,
                 "A thread needs a context to allocate memory from the driver",
                 "[device][driver_conformance]") {
  CUresult without = CUDA_SUCCESS, with = CUDA_SUCCESS;
  std::thread([&] {
    CUdeviceptr address = 0;
    without = Api().allocate(&address, 100);
    Api().push_context(context_);
    with = Api().allocate(&address, 100);
    Api().free(address);
  }).join();
  FOREBAY_CHECK_CUDA(CUDA_ERROR_INVALID_CONTEXT, without);
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, with);
}

TEST_CASE_METHOD(DriverTest, "A forked child has no initialized driver",
                 "[device][driver_conformance]") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int count = 0;
    _exit(Api().device_count(&count) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

// Runs this program as a peer that gets `fd`, and returns the peer's exit
// status.
int RunPeer(const char* what, int fd) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fd, kPeersFd);
  std::string self = "/proc/self/exe", name = "--peer=" + std::string(what);
  char* const arguments[] = {self.data(), name.data(), nullptr};
  pid_t child = 0;
  CHECK(posix_spawn(&child, self.c_str(), &actions, nullptr, arguments,
                    environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

TEST_CASE_METHOD(
    DriverTest,
    "Another process writes exported GPU memory that this one reads",
    "[device][driver_conformance]") {
  const std::size_t bytes = Granularity();
  const CUmemGenericAllocationHandle handle = Create(bytes);
  const MappedMemory memory = MapMemory(device_, handle, bytes);
  Write(memory.address, std::vector<unsigned char>(2000));
  CHECK(RunPeer("write", Export(handle).get()) == 0);
  CHECK(Read(memory.address, 2000) == Numbers(2000));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().release_memory(handle));
  Unmap(memory);
}

TEST_CASE_METHOD(
    DriverTest,
    "A process that is killed leaves nothing behind in the GPU's memory",
    "[device][driver_conformance]") {
  const std::size_t bytes = 8 * Granularity();
  const std::size_t before = FreeMemory();
  for (int i = 0; i < 3; ++i) {
    const CUmemGenericAllocationHandle handle = Create(bytes);
    const int status = RunPeer("die", Export(handle).get());
    CAPTURE(status);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().release_memory(handle));
  }
  CHECK(FreeMemory() == before);
}

// Acts as the peer: imports the memory, writes it, and ends as `what` says.
int BePeer(const std::string& what) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmemGenericAllocationHandle handle = 0;
  CUstream stream = nullptr;
  if (Api().init(0) != CUDA_SUCCESS ||
      Api().device(&device, 0) != CUDA_SUCCESS ||
      Api().retain_context(&context, device) != CUDA_SUCCESS ||
      Api().push_context(context) != CUDA_SUCCESS ||
      Api().create_stream(&stream, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS ||
      Api().import_memory(
          &handle, reinterpret_cast<void*>(std::intptr_t{kPeersFd}),
          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != CUDA_SUCCESS) {
    return 1;
  }
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  std::size_t bytes = 0;
  if (Api().granularity(&bytes, &properties,
                        CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS) {
    return 2;
  }
  const bool dies = what == "die";
  MappedMemory memory{.address = 0, .bytes = dies ? 8 * bytes : bytes};
  if (TryToMap(device, handle, &memory) != CUDA_SUCCESS) return 5;
  const std::vector<unsigned char> numbers = Numbers(2000);
  if (Api().copy_to_device(memory.address, numbers.data(), numbers.size(),
                           stream) != CUDA_SUCCESS) {
    return 3;
  }
  if (dies) kill(getpid(), SIGKILL);
  return Api().synchronize_stream(stream) == CUDA_SUCCESS ? 0 : 4;
}

}  // namespace
}  // namespace forebay::device_tests

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first.rfind("--peer=", 0) == 0)
    return forebay::device_tests::BePeer(first.substr(7));
  return forebay::tests::RunTests(argc, argv);
}
