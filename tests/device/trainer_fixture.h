#ifndef FOREBAY_TESTS_DEVICE_TRAINER_FIXTURE_H_
#define FOREBAY_TESTS_DEVICE_TRAINER_FIXTURE_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/plugin_abi.h"
#include "proto/fd.h"

namespace forebay::device_tests {

// A buffer for a message of the plug-in.
class Words : public cuda::PluginWords {
 public:
  Words() : PluginWords{.text = room_, .size = sizeof(room_)} {}
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  std::string said() const { return room_; }

 private:
  char room_[1024] = {};
};

// Expects that a call of the plug-in succeeds: FOREBAY_CHECK_OK(why, call).
#define FOREBAY_CHECK_OK(why, call)                              \
  do {                                                           \
    const auto forebay_result = (call);                          \
    INFO((why).said());                                          \
    CHECK(forebay_result == ::forebay::cuda::PluginResult::kOk); \
  } while (false)

// GPU memory that the daemon's half of the plug-in has filled and exported.
struct Exported {
  proto::Fd fd;
  std::uint64_t bytes = 0;
};

// Fills memory as the daemon does, and keeps only the memory's descriptor.
Exported Export(const std::vector<unsigned char>& bytes);

// A trainer with its own stream, and the plug-in's trainer half for the first
// GPU. The trainer's thread has the GPU's context.
class Trainer {
 public:
  Trainer();
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  const cuda::PluginTrainerCalls& calls() const { return calls_; }
  cuda::PluginTrainerGpu* gpu() const { return gpu_; }
  CUcontext context() const { return context_; }
  CUstream stream() const { return stream_; }

  // Imports memory that the daemon has exported. Returns its address.
  std::uint64_t Import(const Exported& memory) const;
  std::uint64_t Allocate(std::size_t bytes) const;
  void Write(std::uint64_t address,
             const std::vector<unsigned char>& bytes) const;
  // Waits for the stream, and returns the bytes at an address.
  std::vector<unsigned char> Read(std::uint64_t address,
                                  std::size_t bytes) const;
  std::size_t FreeMemory() const;
  // Waits for all streams.
  void Finish() const;
  // Queues a call of `function` on the host. The function must live until the
  // call ends.
  void QueueOnHost(std::function<void()>* function) const;
  cuda::PluginResult CallAfter(std::function<void()>* function,
                               Words& why) const;
  cuda::PluginResult Poll() const;

 private:
  const cuda::PluginTrainerCalls& calls_;
  cuda::PluginTrainerGpu* gpu_ = nullptr;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
};

}  // namespace forebay::device_tests

#endif  // FOREBAY_TESTS_DEVICE_TRAINER_FIXTURE_H_
