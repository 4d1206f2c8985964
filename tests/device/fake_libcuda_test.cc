// Tests of the fake driver's script: a GPU that fails, stalls, is old, or is in
// use.
#include <cuda.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/temp_dir.h"
#include "tests/device/device_fixture.h"
#include "tests/device/scripted_gpus.h"

namespace forebay::device_tests {
namespace {

using tests::Each;

// A context of the first GPU, and the objects that a trainer makes at its
// start.
struct Session {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
};

CUresult Open(Session* session) {
  CUresult result = Api().init(0);
  if (result == CUDA_SUCCESS)
    result = Api().retain_context(&session->context, 0);
  if (result == CUDA_SUCCESS) result = Api().push_context(session->context);
  if (result == CUDA_SUCCESS)
    result = Api().create_stream(&session->stream, CU_STREAM_NON_BLOCKING, 0);
  if (result == CUDA_SUCCESS)
    result = Api().create_event(&session->event, CU_EVENT_DISABLE_TIMING);
  return result;
}

// Runs `test(session)` in a process whose driver reads the script.
void InSession(const std::string& script,
               const std::function<void(Session&)>& test) {
  WithGpus(script, [&] {
    Session session;
    FOREBAY_REQUIRE_CUDA(Open(&session));
    test(session);
  });
}

std::vector<unsigned char> ReadBack(const Session& session, CUdeviceptr address,
                                    std::size_t bytes) {
  std::vector<unsigned char> read(bytes);
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().copy_to_host(read.data(), address,
                                                      bytes, session.stream));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().synchronize_stream(session.stream));
  return read;
}

TEST_CASE("A call of the fake driver fails as often as the script says",
          "[device][fake_libcuda]") {
  InSession(R"({"faults": [{"call": "cuMemAlloc", "first": 2, "times": 2,
                      "error": "CUDA_ERROR_OUT_OF_MEMORY"}]})",
            [](Session&) {
              CUdeviceptr address = 0;
              FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().allocate(&address, 10));
              FOREBAY_CHECK_CUDA(CUDA_ERROR_OUT_OF_MEMORY,
                                 Api().allocate(&address, 10));
              FOREBAY_CHECK_CUDA(CUDA_ERROR_OUT_OF_MEMORY,
                                 Api().allocate(&address, 10));
              FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().allocate(&address, 10));
            });
}

TEST_CASE("An error of a copy ends all use of the fake driver's GPU",
          "[device][fake_libcuda]") {
  InSession(
      R"({"faults": [{"call": "copy", "first": 2,
                      "error": "CUDA_ERROR_ECC_UNCORRECTABLE"}]})",
      [](Session& session) {
        const char byte = 1;
        CUdeviceptr address = 0;
        FOREBAY_REQUIRE_CUDA(Api().allocate(&address, 1));
        FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().copy_to_device(address, &byte, 1,
                                                              session.stream));
        FOREBAY_CHECK_CUDA(CUDA_SUCCESS,
                           Api().synchronize_stream(session.stream));
        FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().copy_to_device(address, &byte, 1,
                                                              session.stream));
        FOREBAY_CHECK_CUDA(CUDA_ERROR_ECC_UNCORRECTABLE,
                           Api().synchronize_stream(session.stream));
        FOREBAY_CHECK_CUDA(CUDA_ERROR_ECC_UNCORRECTABLE,
                           Api().allocate(&address, 1));
      });
}

TEST_CASE("A copy to an address without memory is illegal in the fake driver",
          "[device][fake_libcuda]") {
  InSession("{}", [](Session& session) {
    CUdeviceptr address = 0;
    FOREBAY_REQUIRE_CUDA(
        Api().reserve_address(&address, std::size_t{2} << 20, 0, 0, 0));
    const char byte = 1;
    FOREBAY_CHECK_CUDA(CUDA_SUCCESS,
                       Api().copy_to_device(address, &byte, 1, session.stream));
    FOREBAY_CHECK_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS,
                       Api().synchronize_stream(session.stream));
  });
}

TEST_CASE("A copy of the fake driver that never ends keeps its event busy",
          "[device][fake_libcuda]") {
  InSession(
      R"({"faults": [{"call": "copy", "stall": true}]})", [](Session& session) {
        const char byte = 1;
        CUdeviceptr address = 0;
        FOREBAY_REQUIRE_CUDA(Api().allocate(&address, 1));
        FOREBAY_REQUIRE_CUDA(
            Api().copy_to_device(address, &byte, 1, session.stream));
        FOREBAY_REQUIRE_CUDA(Api().record_event(session.event, session.stream));
        FOREBAY_CHECK_CUDA(CUDA_ERROR_NOT_READY,
                           Api().query_event(session.event));
      });
}

TEST_CASE("No CPU touches the memory of the fake driver's GPU",
          "[device][fake_libcuda]") {
  InSession("{}", [](Session&) {
    CUdeviceptr address = 0;
    FOREBAY_REQUIRE_CUDA(Api().allocate(&address, 1));
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL);
      _exit(*reinterpret_cast<volatile char*>(address));
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CAPTURE(status);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
  });
}

TEST_CASE("Fresh memory of the fake driver is not zero",
          "[device][fake_libcuda]") {
  InSession("{}", [](Session& session) {
    CUdeviceptr address = 0;
    FOREBAY_REQUIRE_CUDA(Api().allocate(&address, 1000));
    CHECK_THAT(ReadBack(session, address, 1000), Each(0xA5));
  });
}

TEST_CASE("The fake driver releases a handle only once",
          "[device][fake_libcuda]") {
  InSession("{}", [](Session&) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    FOREBAY_REQUIRE_CUDA(
        Api().create_memory(&handle, std::size_t{2} << 20, &properties, 0));
    FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().release_memory(handle));
    FOREBAY_CHECK_CUDA(CUDA_ERROR_INVALID_VALUE, Api().release_memory(handle));
  });
}

TEST_CASE("What belongs to a destroyed context of the fake driver is useless",
          "[device][fake_libcuda]") {
  InSession("{}", [](Session& session) {
    FOREBAY_REQUIRE_CUDA(Api().release_context(0));
    CUdeviceptr address = 0;
    FOREBAY_CHECK_CUDA(CUDA_ERROR_INVALID_CONTEXT, Api().allocate(&address, 1));
    FOREBAY_CHECK_CUDA(CUDA_ERROR_CONTEXT_IS_DESTROYED,
                       Api().query_event(session.event));
  });
}

// Opens a context while another process has one. Returns the result.
CUresult OpenBesideAnother(const std::string& script) {
  CUresult result = CUDA_ERROR_UNKNOWN;
  int told[2], ends[2], answer[2];
  CHECK(pipe(told) + pipe(ends) + pipe(answer) == 0);
  WithGpus(script, [&] {
    const pid_t other = fork();
    Session session;
    if (other == 0) {
      // A CHECK in the second process would hide a failure of this process.
      const char opened = Open(&session) == CUDA_SUCCESS ? 'y' : 'n';
      CHECK(write(told[1], &opened, 1) == 1);
      char nothing;
      CHECK(read(ends[0], &nothing, 1) == 1);
      _exit(0);
    }
    char opened = 'n';
    REQUIRE(read(told[0], &opened, 1) == 1);
    CHECK(opened == 'y');
    const CUresult second = Open(&session);
    CHECK(write(answer[1], &second, sizeof(second)) == ssize_t{sizeof(second)});
    CHECK(write(ends[1], "e", 1) == 1);
    int status = -1;
    CHECK(waitpid(other, &status, 0) == other);
  });
  CHECK(read(answer[0], &result, sizeof(result)) == ssize_t{sizeof(result)});
  for (const int fd :
       {told[0], told[1], ends[0], ends[1], answer[0], answer[1]}) {
    close(fd);
  }
  return result;
}

TEST_CASE(
    "An exclusive GPU of the fake driver serves one process unless there is "
    "MPS",
    "[device][fake_libcuda]") {
  CHECK(OpenBesideAnother(
            R"({"gpus": [{"compute_mode": "exclusive_process"}]})") ==
        CUDA_ERROR_DEVICE_UNAVAILABLE);
  CHECK(
      OpenBesideAnother(
          R"({"mps": true, "gpus": [{"compute_mode": "exclusive_process"}]})") ==
      CUDA_SUCCESS);
}

TEST_CASE("Memory of other processes counts on the fake driver's GPU",
          "[device][fake_libcuda]") {
  CHECK(
      OpenBesideAnother(
          R"({"gpus": [{"memory": 100000000}], "context_bytes": 60000000})") ==
      CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_CASE("A write to read-only memory is illegal in the fake driver",
          "[device][fake_libcuda]") {
  InSession("{}", [](Session& session) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    constexpr std::size_t kBytes = std::size_t{2} << 20;
    FOREBAY_REQUIRE_CUDA(Api().create_memory(&handle, kBytes, &properties, 0));
    const MappedMemory memory = MapMemory(0, handle, kBytes);
    CUmemAccessDesc access = {};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    FOREBAY_REQUIRE_CUDA(
        Api().set_access(memory.address, memory.bytes, &access, 1));
    CUdeviceptr other = 0;
    FOREBAY_REQUIRE_CUDA(Api().allocate(&other, 8));
    FOREBAY_REQUIRE_CUDA(
        Api().copy_on_device(other, memory.address, 8, session.stream));
    FOREBAY_REQUIRE_CUDA(Api().synchronize_stream(session.stream));
    FOREBAY_REQUIRE_CUDA(
        Api().copy_on_device(memory.address, other, 8, session.stream));
    FOREBAY_CHECK_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS,
                       Api().synchronize_stream(session.stream));
    FOREBAY_CHECK_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, Api().allocate(&other, 8));
  });
}

TEST_CASE(
    "A capture in the fake driver forbids other threads to query unless they "
    "are relaxed",
    "[device][fake_libcuda]") {
  InSession("{}", [](Session& session) {
    auto* const begin =
        FindInDriver<decltype(cuStreamBeginCapture)>("cuStreamBeginCapture_v2");
    auto* const end =
        FindInDriver<decltype(cuStreamEndCapture)>("cuStreamEndCapture");
    for (const bool is_relaxed : {true, false}) {
      FOREBAY_REQUIRE_CUDA(
          begin(session.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
      CUresult queried = CUDA_SUCCESS;
      std::thread([&] {
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        if (is_relaxed) Api().exchange_capture_mode(&mode);
        queried = Api().query_event(session.event);
      }).join();
      FOREBAY_CHECK_CUDA(
          is_relaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
          queried);
      CUgraph graph = nullptr;
      FOREBAY_CHECK_CUDA(
          is_relaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
          end(session.stream, &graph));
    }
  });
}

TEST_CASE("CUDA_VISIBLE_DEVICES chooses and orders the fake driver's GPUs",
          "[device][fake_libcuda]") {
  setenv("CUDA_VISIBLE_DEVICES", "GPU-bbbb,0,7,1", 1);
  WithGpus(R"({"gpus": [{"uuid": "aaaaaaaa-0000-0000-0000-000000000000"},
                        {"uuid": "bbbbbbbb-0000-0000-0000-000000000000"}]})",
           [] {
             FOREBAY_REQUIRE_CUDA(Api().init(0));
             int count = 0;
             FOREBAY_REQUIRE_CUDA(Api().device_count(&count));
             CHECK(count == 2);
             CUuuid uuid = {};
             FOREBAY_REQUIRE_CUDA(Api().uuid(&uuid, 0));
             CHECK(static_cast<unsigned char>(uuid.bytes[0]) == 0xBB);
           });
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_CASE("The fake driver's log names each copy", "[device][fake_libcuda]") {
  const std::string log = tests::TempDir() + "copies";
  unlink(log.c_str());
  InSession(R"({"log": ")" + log + R"(", "gpus": [{"uuid": "u"}]})",
            [](Session& session) {
              CUdeviceptr address = 0;
              FOREBAY_REQUIRE_CUDA(Api().allocate(&address, 100));
              const char bytes[7] = {};
              FOREBAY_REQUIRE_CUDA(
                  Api().copy_to_device(address, bytes, 7, session.stream));
              FOREBAY_REQUIRE_CUDA(Api().synchronize_stream(session.stream));
            });
  std::ifstream file(log);
  std::string process, what, uuid;
  std::uint64_t count = 0;
  file >> process >> what >> uuid >> count;
  CHECK(what + " " + uuid == "copy u");
  CHECK(count == 7u);
}

}  // namespace
}  // namespace forebay::device_tests
