#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_SCRATCH_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_SCRATCH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::pipeline::transform {

// The memory of one sample's intermediate images and tables. A range of
// addresses is reserved once, handed out from front to back, and taken back as
// a whole. How much a sample may use does not depend on the samples before it.
//
// Not thread-safe. Owns its memory. Never blocks. Count and Allocate fail with
// RESOURCE_EXHAUSTED; the message has `what` and the sizes.
class Scratch {
 public:
  // Reserves addresses for `limit_bytes` bytes. A page takes memory only once
  // it is written.
  explicit Scratch(std::uint64_t limit_bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Takes all memory back. Memory beyond the usual need goes back to the
  // system.
  void Reset() { ResetBehind({}); }
  // Takes all memory back. If `first` lies within the scratch, its memory is
  // kept; `first` must then be the first allocation, or a part of it.
  void ResetBehind(absl::Span<const std::uint8_t> first);

  // Counts against the limit `bytes` bytes that the sample needs outside of the
  // scratch. To be called right after a reset. `what` names their purpose in
  // the error.
  absl::Status Count(std::uint64_t bytes, std::string_view what);

  // Returns `count` uninitialised elements, aligned to 64 bytes, with 64
  // readable bytes behind them. They are valid until the next reset. `what`
  // names their purpose in the error.
  template <typename T>
  absl::StatusOr<T*> Allocate(std::uint64_t count, std::string_view what) {
    static_assert(std::is_trivial_v<T>);
    auto bytes = AllocateBytes(count, sizeof(T), what);
    if (!bytes.ok()) return bytes.status();
    return static_cast<T*>(*bytes);
  }

  // Whether Count or Allocate has failed since the last reset.
  bool ran_out() const { return ran_out_; }

 private:
  // Allocates `count` elements of `size` bytes.
  absl::StatusOr<void*> AllocateBytes(std::uint64_t count, std::uint64_t size,
                                      std::string_view what);
  // Notes that memory ran out, and returns the error.
  absl::Status Refuse(std::uint64_t count, std::uint64_t size,
                      std::string_view what);
  // Returns the number of bytes that may still be handed out or counted.
  std::uint64_t left() const { return limit_ - elsewhere_ - used_; }
  // Gives the memory behind `offset`, except for memory in use, back to the
  // system. `offset` is a multiple of the page size.
  void GiveBackFrom(std::uint64_t offset);

  const std::uint64_t limit_;
  // Start of the range; null if the system refused to reserve it.
  std::byte* base_ = nullptr;
  // Bytes handed out since the last reset.
  std::uint64_t used_ = 0;
  // Bytes that Count has counted since the last reset.
  std::uint64_t elsewhere_ = 0;
  // Bytes from the start of the range that may be backed by memory.
  std::uint64_t peak_ = 0;
  bool ran_out_ = false;
};

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_SCRATCH_H_
