#ifndef FOREBAY_SERVER_STORAGE_INFLATED_INFLATE_READER_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_INFLATE_READER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/storage/inflated/access_point.h"
#include "server/storage/inflated/packed_reader.h"
#include "server/storage/inflated/packing.h"
#include "server/storage/inflated/scratch_pool.h"

namespace forebay::storage::inflated {

// The reader of a file that is compressed by deflate. As PackedReader says.
class InflateReader final : public PackedReader {
 public:
  // Memory of one.
  static constexpr std::uint64_t kBytes = std::uint64_t{128} << 10;

  // `window` is that of `point`. The part begins at `offset`, not before the
  // point, and is as long as `out`, which outlives the reader. Bytes before it
  // are thrown away by way of `scratches`.
  // RESOURCE_EXHAUSTED: there is no memory for zlib's state.
  static absl::StatusOr<std::unique_ptr<InflateReader>> Create(
      Packing packing, const AccessPoint& point,
      absl::Span<const std::uint8_t> window, std::uint64_t offset,
      absl::Span<std::uint8_t> out, std::shared_ptr<ScratchPool> scratches);
  ~InflateReader() override;

  absl::StatusOr<std::uint64_t> Take(
      absl::Span<const std::uint8_t> packed) override;
  bool pending() const override { return is_pending_; }
  bool done() const override { return filled_ == out_.size(); }

 private:
  struct State;
  enum class Place { kBetweenMembers, kInMember, kInTrailer };

  InflateReader(Packing packing, std::uint64_t skip,
                absl::Span<std::uint8_t> out,
                std::shared_ptr<ScratchPool> scratches,
                std::unique_ptr<State> state);

  // Makes at most `left` bytes, which it subtracts from that.
  absl::StatusOr<std::uint64_t> InflateSome(
      absl::Span<const std::uint8_t> packed, absl::Span<std::uint8_t> scratch,
      std::uint64_t* left);

  const Packing packing_;
  const std::shared_ptr<ScratchPool> scratches_;
  const std::unique_ptr<State> state_;
  Place place_ = Place::kInMember;
  // Whether it sees blocks alone: of the member that it began in the middle of.
  bool is_raw_ = false;
  // Of the first byte: bits of the block before.
  int foreign_bits_ = 0;
  bool is_pending_ = false;
  std::uint64_t trailer_ = 0;  // bytes of it that are left
  std::uint64_t skip_;         // bytes to inflate and throw away
  absl::Span<std::uint8_t> out_;
  std::uint64_t filled_ = 0;  // bytes
};

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_INFLATE_READER_H_
