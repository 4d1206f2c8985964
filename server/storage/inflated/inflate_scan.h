#ifndef FOREBAY_SERVER_STORAGE_INFLATED_INFLATE_SCAN_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_INFLATE_SCAN_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/storage/inflated/packed_scan.h"
#include "server/storage/inflated/packing.h"

namespace forebay::storage::inflated {

// The scan of a file that is compressed by deflate: one access point where it
// begins, and one at the last block before the next is too far off. Takes gzip
// members one behind the other, and zeros behind the last one, as gzip does.
// As PackedScan says.
class InflateScan final : public PackedScan {
 public:
  // Memory of one.
  static constexpr std::uint64_t kBytes = std::uint64_t{192} << 10;

  // `memory` outlives the scan.
  static absl::StatusOr<std::unique_ptr<InflateScan>> Create(
      Packing packing, base::WorkingMemory* memory);
  ~InflateScan() override;

  absl::Status Take(absl::Span<const std::uint8_t> packed, Out out,
                    Found found) override;
  absl::Status Finish(Found found) override;

  std::uint64_t taken() const override { return in_; }
  std::uint64_t inflated() const override { return out_; }

 private:
  struct State;
  enum class Place { kBetweenMembers, kInMember, kBehindAll };

  InflateScan(Packing packing, std::unique_ptr<State> state,
              base::WorkingMemory* memory);

  absl::Status BeginMember(absl::Span<const std::uint8_t> rest);
  // Returns how many of `rest` it took. If a block that is not the last one
  // ends there, sets the bits of the last byte that are not its own.
  absl::StatusOr<std::uint64_t> InflateSome(absl::Span<const std::uint8_t> rest,
                                            Out out, int* unused_bits);
  // Notes that a block begins here.
  void NoteBlock(int unused_bits);
  absl::Status TellPoint(Found found);

  const Packing packing_;
  base::WorkingMemory* const memory_;
  const std::unique_ptr<State> state_;
  Place place_ = Place::kBetweenMembers;
  bool any_member_ = false;
  bool is_pending_ = false;  // zlib may have more of the bytes that it took
  std::uint64_t in_ = 0;
  std::uint64_t out_ = 0;
  std::uint64_t last_point_ = 0;  // its offset
};

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_INFLATE_SCAN_H_
