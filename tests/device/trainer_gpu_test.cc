// Tests of the plug-in's trainer half, on a GPU or on the fake driver.
#include <cuda.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/wire/packet_socket.h"
#include "proto/fd.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/device/capture.h"
#include "tests/device/device_fixture.h"
#include "tests/device/expected_elements.h"
#include "tests/device/scripted_gpus.h"
#include "tests/device/trainer_fixture.h"

namespace forebay::device_tests {
namespace {

using tests::IsOk;

// Streams pause before each operation, for random times up to 3 ms.
constexpr char kDelays[] = R"({"seed": 7, "delay_micros": 3000})";

cuda::PluginTail MakeTail(const ElementForm& form) {
  cuda::PluginTail tail = {};
  tail.element_bytes = form.element_bytes;
  tail.planar = form.planar;
  tail.colors = form.colors;
  for (std::uint32_t i = 0; i < std::size(tail.table); ++i)
    tail.table[i] = 0x9E3779B1u * (i + 1);
  return tail;
}

// Runs a tail on memory that the daemon has exported, and checks its output.
void ExpectTail(const Trainer& trainer, const ElementForm& form,
                std::uint64_t images) {
  const std::vector<unsigned char> pixels =
      Numbers(images * form.image_pixels * form.colors, 7);
  const Exported memory = Export(pixels);
  const std::uint64_t from = trainer.Import(memory);
  const std::size_t made = pixels.size() * form.element_bytes;
  const std::uint64_t to = trainer.Allocate(made);
  const cuda::PluginTail tail = MakeTail(form);
  Words why;
  FOREBAY_CHECK_OK(
      why, trainer.calls().run_tail(trainer.gpu(), trainer.stream(), &tail,
                                    from, to, images, form.image_pixels, why));
  UNSCOPED_INFO(form.image_pixels << " " << form.element_bytes << " "
                                  << form.planar << " " << form.colors);
  CHECK(trainer.Read(to, made) == ExpectedElements(form, tail.table, pixels));
  FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().free(to));
  trainer.calls().unimport(trainer.gpu(), from, memory.bytes);
}

TEST_CASE("A trainer's tail makes the elements of the table",
          "[device][trainer_gpu]") {
  WithGpus("{}", [] {
    const Trainer trainer;
    CHECK(trainer.calls().has_tail(trainer.gpu()) == 1);
    for (const std::uint32_t bytes : {1, 2, 4}) {
      for (const std::uint32_t planar : {0, 1}) {
        for (const std::uint32_t colors : {1, 3}) {
          for (const std::uint64_t pixels : {1, 63, 64}) {
            ExpectTail(trainer, {pixels, bytes, planar, colors}, 5);
          }
        }
      }
    }
    // These tails have more elements than the grid has threads.
    ExpectTail(trainer, {224 * 223, 4, 1, 3}, 3);
    ExpectTail(trainer, {223 * 223, 2, 1, 3}, 3);
  });
}

TEST_CASE("A tail and a copy on a trainer's GPU make nothing of nothing",
          "[device][trainer_gpu]") {
  WithGpus("{}", [] {
    const Trainer trainer;
    const cuda::PluginTail tail = MakeTail({});
    Words why;
    FOREBAY_CHECK_OK(
        why, trainer.calls().run_tail(trainer.gpu(), trainer.stream(), &tail, 0,
                                      0, 0, 100, why));
    FOREBAY_CHECK_OK(
        why, trainer.calls().run_tail(trainer.gpu(), trainer.stream(), &tail, 0,
                                      0, 100, 0, why));
    FOREBAY_CHECK_OK(why, trainer.calls().copy(trainer.gpu(), trainer.stream(),
                                               0, 0, 0, why));
    trainer.Finish();
  });
}

TEST_CASE("The plug-in refuses a tail that would end all use of the GPU",
          "[device][trainer_gpu]") {
  WithGpus("{}", [] {
    const Trainer trainer;
    const std::uint64_t memory = trainer.Allocate(1000);
    const auto run = [&](const cuda::PluginTail& tail, std::uint64_t from,
                         std::uint64_t to, std::uint64_t images) {
      Words why;
      return trainer.calls().run_tail(trainer.gpu(), trainer.stream(), &tail,
                                      from, to, images, 8, why);
    };
    const cuda::PluginTail good = MakeTail({});
    cuda::PluginTail odd = good;
    odd.element_bytes = 3;
    CHECK(run(odd, memory, memory, 1) == cuda::PluginResult::kFailed);
    odd = good;
    odd.colors = 2;
    CHECK(run(odd, memory, memory, 1) == cuda::PluginResult::kFailed);
    CHECK(run(good, memory + 1, memory, 1) == cuda::PluginResult::kFailed);
    CHECK(run(good, memory, memory + 8, 1) == cuda::PluginResult::kFailed);
    CHECK(run(good, memory, memory, ~std::uint64_t{0} / 4) ==
          cuda::PluginResult::kFailed);
    CHECK(run(good, memory, memory, 1) == cuda::PluginResult::kOk);
    trainer.Finish();
  });
}

TEST_CASE("The plug-in copies within the trainer's GPU",
          "[device][trainer_gpu]") {
  WithGpus("{}", [] {
    const Trainer trainer;
    const std::uint64_t from = trainer.Import(Export(Numbers(5000)));
    const std::uint64_t to = trainer.Allocate(5000);
    Words why;
    FOREBAY_CHECK_OK(why, trainer.calls().copy(trainer.gpu(), trainer.stream(),
                                               from, to, 5000, why));
    CHECK(trainer.Read(to, 5000) == Numbers(5000));
    // Write() uses the legacy default stream.
    trainer.Write(to, std::vector<unsigned char>(5000));
    FOREBAY_CHECK_OK(
        why, trainer.calls().copy(trainer.gpu(), nullptr, from, to, 5000, why));
    trainer.Finish();
    CHECK(trainer.Read(to, 5000) == Numbers(5000));
  });
}

TEST_CASE(
    "A callback comes once and after what the trainer's stream had queued",
    "[device][trainer_gpu]") {
  WithGpus(kDelays, [] {
    const Trainer trainer;
    std::atomic<int> steps{0}, calls{0};
    std::vector<int> seen(20, -1);
    std::function<void()> step = [&] { ++steps; };
    std::vector<std::function<void()>> after(seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      trainer.QueueOnHost(&step);
      after[i] = [&, i] {
        seen[i] = steps;
        ++calls;
      };
      Words why;
      FOREBAY_CHECK_OK(why, trainer.CallAfter(&after[i], why));
    }
    trainer.Finish();
    CHECK(calls == std::ssize(seen));
    for (std::size_t i = 0; i < seen.size(); ++i)
      CHECK(seen[i] >= static_cast<int>(i) + 1);
    CHECK(trainer.Poll() == cuda::PluginResult::kOk);
  });
}

TEST_CASE(
    "A callback waits for the trainer's stream but the stream does not wait "
    "for it",
    "[device][trainer_gpu]") {
  WithGpus(kDelays, [] {
    const Trainer trainer;
    std::promise<void> stream_may_go, call_may_go;
    std::atomic<bool> gone{false}, early{false}, called{false};
    std::function<void()> gate = [&] {
      stream_may_go.get_future().wait();
      gone = true;
    };
    std::function<void()> call = [&] {
      early = !gone;
      call_may_go.get_future().wait();
      called = true;
    };
    trainer.QueueOnHost(&gate);
    Words why;
    FOREBAY_CHECK_OK(why, trainer.CallAfter(&call, why));
    CHECK(trainer.Poll() == cuda::PluginResult::kOk);
    CHECK_FALSE(called);
    stream_may_go.set_value();
    // While the queued call runs, only later calls wait for it; the stream does
    // not.
    FOREBAY_CHECK_CUDA(CUDA_SUCCESS,
                       Api().synchronize_stream(trainer.stream()));
    CHECK_FALSE(called);
    call_may_go.set_value();
    trainer.Finish();
    CHECK(called);
    CHECK_FALSE(early);
  });
}

TEST_CASE("Callbacks come also after the trainer's GPU was closed",
          "[device][trainer_gpu]") {
  WithGpus(kDelays, [] {
    const Trainer other;
    std::promise<void> stream_may_go;
    std::atomic<int> calls{0};
    std::function<void()> gate = [&] { stream_may_go.get_future().wait(); };
    std::function<void()> call = [&] { ++calls; };
    other.QueueOnHost(&gate);
    Words why;
    cuda::PluginTrainerGpu* gpu = nullptr;
    FOREBAY_CHECK_OK(why, other.calls().open(0, &gpu, why));
    const auto count = [](void* function) {
      (*static_cast<std::function<void()>*>(function))();
    };
    FOREBAY_CHECK_OK(
        why, other.calls().call_after(gpu, other.stream(), count, &call, why));
    other.calls().close(gpu);
    CHECK(calls == 0);
    stream_may_go.set_value();
    other.Finish();
    CHECK(calls == 1);
  });
}

TEST_CASE("The plug-in gives back GPU memory that a trainer imported",
          "[device][trainer_gpu]") {
  WithGpus("{}", [] {
    const Trainer trainer;
    Export(Numbers(1));  // the daemon's half makes what it keeps for good
    const std::size_t before = trainer.FreeMemory();
    for (int i = 0; i < 3; ++i) {
      Exported memory = Export(Numbers(5 << 20));
      const std::uint64_t address = trainer.Import(memory);
      memory.fd.Close();
      CHECK(trainer.FreeMemory() <= before - memory.bytes);
      CHECK(trainer.Read(address, 100) == Numbers(100));
      trainer.calls().unimport(trainer.gpu(), address, memory.bytes);
      CHECK(trainer.FreeMemory() == before);
    }
  });
}

TEST_CASE("The plug-in imports only what is memory of the trainer's GPU",
          "[device][trainer_gpu]") {
  WithGpus("{}", [] {
    const Trainer trainer;
    const Exported memory = Export(Numbers(1000));
    const auto import = [&](int fd, std::uint64_t bytes) {
      Words why;
      std::uint64_t address = 0;
      return trainer.calls().import_memory(trainer.gpu(), fd, bytes, &address,
                                           why);
    };
    CHECK(import(memory.fd.get(), 0) == cuda::PluginResult::kFailed);
    CHECK(import(memory.fd.get(), std::uint64_t{1} << 48) ==
          cuda::PluginResult::kFailed);
    CHECK(import(memory.fd.get(), memory.bytes * 4) ==
          cuda::PluginResult::kFailed);
    CHECK(import(-1, memory.bytes) == cuda::PluginResult::kFailed);
    CHECK(import(STDERR_FILENO, memory.bytes) != cuda::PluginResult::kOk);
    CHECK(trainer.Poll() == cuda::PluginResult::kOk);
    // A size below the granularity is rounded up to it.
    CHECK(import(memory.fd.get(), 1000) == cuda::PluginResult::kOk);
  });
}

TEST_CASE("Imported GPU memory outlives the process that exported it",
          "[device][trainer_gpu]") {
  WithGpus("{}", [] {
    int sockets[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) == 0);
    const pid_t daemon = fork();
    if (daemon == 0) {
      const Exported memory = Export(Numbers(64 * 3));
      CHECK_THAT(client::wire::SendPacket(sockets[1], "m", {memory.fd.get()}),
                 IsOk());
      while (true) pause();
    }
    std::string text;
    std::vector<proto::Fd> fds;
    REQUIRE_THAT(
        client::wire::ReceivePacket(sockets[0], 10'000'000'000, &text, &fds),
        IsOk());
    REQUIRE(fds.size() == 1);
    Exported memory = {.fd = std::move(fds[0]), .bytes = 64 * 3};
    const Trainer trainer;
    const std::uint64_t from = trainer.Import(memory);
    memory.fd.Close();
    kill(daemon, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(daemon, &status, 0) == daemon);
    const ElementForm form = {.image_pixels = 64, .element_bytes = 4};
    const cuda::PluginTail tail = MakeTail(form);
    const std::uint64_t to = trainer.Allocate(64 * 3 * 4);
    Words why;
    FOREBAY_CHECK_OK(
        why, trainer.calls().run_tail(trainer.gpu(), trainer.stream(), &tail,
                                      from, to, 1, 64, why));
    CHECK(trainer.Read(to, 64 * 3 * 4) ==
          ExpectedElements(form, tail.table, Numbers(64 * 3)));
  });
}

TEST_CASE("The plug-in does not break a capture by another thread",
          "[device][trainer_gpu]") {
  WithGpus(kDelays, [] {
    // The trainer has a context and memory before it opens the plug-in.
    const Trainer trainer;
    const Exported memory = Export(Numbers(64 * 3));
    const std::uint64_t to = trainer.Allocate(64 * 3);
    CUstream captured = nullptr;
    FOREBAY_REQUIRE_CUDA(
        Api().create_stream(&captured, CU_STREAM_NON_BLOCKING, 0));
    BeginCapture(captured);
    std::atomic<int> calls{0};
    std::function<void()> call = [&] { ++calls; };
    // The results of the calls, in order, and of the last poll. The thread
    // itself must not assert anything.
    std::vector<cuda::PluginResult> results;
    Words why;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult exchanged = CUDA_ERROR_UNKNOWN;
    std::thread([&] {
      cuda::PluginTrainerGpu* gpu = nullptr;
      results.push_back(trainer.calls().open(0, &gpu, why));
      std::uint64_t from = 0;
      results.push_back(trainer.calls().import_memory(
          trainer.gpu(), memory.fd.get(), memory.bytes, &from, why));
      const cuda::PluginTail tail = MakeTail({});
      results.push_back(trainer.calls().run_tail(gpu, trainer.stream(), &tail,
                                                 from, to, 1, 64, why));
      results.push_back(
          trainer.calls().copy(gpu, trainer.stream(), from, to, 64, why));
      results.push_back(trainer.CallAfter(&call, why));
      cuda::PluginResult polled = results.back();
      while (calls == 0 && polled == cuda::PluginResult::kOk) {
        polled = trainer.Poll();
        std::this_thread::yield();
      }
      results.push_back(polled);
      trainer.calls().unimport(gpu, from, memory.bytes);
      exchanged = Api().exchange_capture_mode(&mode);
    }).join();
    INFO(why.said());
    for (const cuda::PluginResult result : results)
      CHECK(result == cuda::PluginResult::kOk);
    // The thread's capture mode is as strict as before.
    FOREBAY_CHECK_CUDA(CUDA_SUCCESS, exchanged);
    CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
    EndCapture(captured);
    FOREBAY_CHECK_CUDA(CUDA_SUCCESS, Api().destroy_stream(captured));
  });
}

TEST_CASE("A trainer's stream that is captured says so and takes no callback",
          "[device][trainer_gpu]") {
  WithGpus("{}", [] {
    const Trainer trainer;
    const auto captures = [&] {
      Words why;
      std::int32_t found = -1;
      FOREBAY_CHECK_OK(why, trainer.calls().is_capturing(
                                trainer.gpu(), trainer.stream(), &found, why));
      return found;
    };
    CHECK(captures() == 0);
    BeginCapture(trainer.stream());
    CHECK(captures() == 1);
    bool called = false;
    std::function<void()> call = [&] { called = true; };
    Words why;
    CHECK(trainer.CallAfter(&call, why) == cuda::PluginResult::kFailed);
    CHECK(why.said() ==
          "a stream that is captured into a CUDA graph calls nobody");
    EndCapture(trainer.stream());
    CHECK(captures() == 0);
    trainer.Finish();
    CHECK_FALSE(called);
  });
}

}  // namespace
}  // namespace forebay::device_tests
