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

// The memory of one sample's intermediate images and tables: a range of
// addresses reserved once, handed out front to back, taken back as a whole. The
// memory of a sample does not depend on the samples before it. Not thread-safe.
// Owns its memory. Does not block. Count and Allocate fail with
// RESOURCE_EXHAUSTED, naming what was wanted and the sizes.
class Scratch {
 public:
  explicit Scratch(std::uint64_t limit_bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Takes everything back. Returns memory beyond what samples usually need to
  // the system.
  void Reset() { ResetBehind({}); }
  // As Reset, but keeps `first`, if that is what was allocated first, or a part
  // of it.
  void ResetBehind(absl::Span<const std::uint8_t> first);

  // Counts bytes that the sample needs elsewhere against the limit. To be
  // called right after a reset.
  absl::Status Count(std::uint64_t bytes, std::string_view what);

  // Returns `count` uninitialised elements, aligned to 64 bytes, with 64
  // readable bytes behind them. They are valid until Reset.
  template <typename T>
  absl::StatusOr<T*> Allocate(std::uint64_t count, std::string_view what) {
    static_assert(std::is_trivial_v<T>);
    auto bytes = AllocateBytes(count, sizeof(T), what);
    if (!bytes.ok()) return bytes.status();
    return static_cast<T*>(*bytes);
  }

  // Whether it refused anything since Reset.
  bool ran_out() const { return ran_out_; }

 private:
  absl::StatusOr<void*> AllocateBytes(std::uint64_t count, std::uint64_t size,
                                      std::string_view what);
  absl::Status Refuse(std::uint64_t count, std::uint64_t size,
                      std::string_view what);
  std::uint64_t left() const { return limit_ - elsewhere_ - used_; }
  // Returns memory from `offset` on, which is a page's, to the system. Keeps
  // what is in use.
  void GiveBackFrom(std::uint64_t offset);

  const std::uint64_t limit_;
  std::byte* base_ = nullptr;  // null if the system refused it
  std::uint64_t used_ = 0;
  std::uint64_t elsewhere_ = 0;
  std::uint64_t peak_ = 0;  // bytes that may hold memory of the system
  bool ran_out_ = false;
};

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_SCRATCH_H_
