#ifndef FOREBAY_SERVER_STORAGE_INFLATED_INFLATE_SCAN_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_INFLATE_SCAN_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/storage/inflated/packing.h"

namespace forebay::storage::inflated {

// An access point whose window is not kept yet.
struct FoundPoint {
  std::uint64_t offset = 0;  // as AccessPoint's
  std::uint64_t bit = 0;
  absl::Span<const std::uint8_t> window;  // at most kWindowBytes
};

// Inflates a whole file, piece by piece, and finds its access points: one where
// it begins, and the last block before the next is too far off. Takes gzip
// members one behind the other, and zeros behind the last one, as gzip does.
// Checks all that zlib checks: the checksums and lengths.
//
// Not thread-safe. Owns about 150 KiB. Never blocks. Errors end it, and give
// the reason alone: DATA_LOSS: the file is damaged or truncated, or has
// something behind its end; those of the callbacks.
class InflateScan {
 public:
  // Memory of one.
  static constexpr std::uint64_t kBytes = std::uint64_t{192} << 10;

  // Called for inflated bytes, in their order, at most 64 KiB at a time.
  using Out =
      absl::FunctionRef<absl::Status(absl::Span<const std::uint8_t> bytes)>;
  // Called for points, in their order, each before kMostApart bytes behind it
  // were inflated, or when it turns out that a block is longer.
  using Found = absl::FunctionRef<absl::Status(const FoundPoint& point)>;

  // RESOURCE_EXHAUSTED: there is no memory for zlib's state.
  static absl::StatusOr<std::unique_ptr<InflateScan>> Create(Packing packing);
  ~InflateScan();

  // Takes the file's next bytes, and holds back nothing that they inflate to.
  absl::Status Take(absl::Span<const std::uint8_t> packed, Out out,
                    Found found);
  // To be called when all were taken.
  absl::Status Finish() const;

  std::uint64_t taken() const { return in_; }      // compressed bytes
  std::uint64_t inflated() const { return out_; }  // bytes

 private:
  struct State;
  enum class Place { kBetweenMembers, kInMember, kBehindAll };

  InflateScan(Packing packing, std::unique_ptr<State> state);

  absl::Status BeginMember(absl::Span<const std::uint8_t> rest);
  // Returns how many of `rest` it took. If a block that is not the last one
  // ends there, sets the bits of the last byte that are not its own.
  absl::StatusOr<std::uint64_t> InflateSome(absl::Span<const std::uint8_t> rest,
                                            Out out, int* unused_bits);
  // Notes that a block begins here.
  void NoteBlock(int unused_bits);
  absl::Status TellPoint(Found found);

  const Packing packing_;
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
