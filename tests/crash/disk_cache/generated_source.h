#ifndef FOREBAY_TESTS_CRASH_DISK_CACHE_GENERATED_SOURCE_H_
#define FOREBAY_TESTS_CRASH_DISK_CACHE_GENERATED_SOURCE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "server/cache/next_use.h"
#include "server/storage/byte_source.h"

namespace forebay::cache::disk {

// Sizes of the killed writer's tier, and of the tier that is opened on its
// files.
inline constexpr std::uint64_t kKilledCapacity = std::uint64_t{8} << 20;
inline constexpr std::uint64_t kKilledSegment = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kGeneratedObjects = 400;
inline constexpr std::int64_t kGeneratedStamps = 2;  // versions of each object

// Returns a request for version `stamp` of an object. The request says that the
// object is wanted again at once. All processes make the same requests.
storage::ReadRequest GeneratedRequest(std::uint64_t object, std::int64_t stamp);

// Returns the bytes that version `stamp` of an object has.
std::string GeneratedContent(std::uint64_t object, std::int64_t stamp);

// Answers reads with GeneratedContent, before Read returns. Thread-safe.
class GeneratedSource final : public storage::ByteSource {
 public:
  void Read(absl::Span<storage::ReadRequest> requests) override;
  std::uint64_t reads() const { return reads_; }

 private:
  std::atomic<std::uint64_t> reads_ = 0;
};

// Answers kUnknown for all samples.
class NoNextUse final : public NextUse {
 public:
  void Ask(std::int64_t now_nanos, absl::Span<const storage::SampleRef> samples,
           absl::Span<std::int64_t> nanos) const override;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_TESTS_CRASH_DISK_CACHE_GENERATED_SOURCE_H_
