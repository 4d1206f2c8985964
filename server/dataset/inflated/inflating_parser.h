#ifndef FOREBAY_SERVER_DATASET_INFLATED_INFLATING_PARSER_H_
#define FOREBAY_SERVER_DATASET_INFLATED_INFLATING_PARSER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/inflated/piece_digest.h"
#include "server/dataset/inflated/point_file.h"
#include "server/dataset/object_parser.h"
#include "server/storage/inflated/access_point.h"
#include "server/storage/inflated/packed_scan.h"
#include "server/storage/inflated/packing.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::inflated {

// A format whose files may be compressed as a whole.
struct InnerFormat {
  // Returns how a file is compressed that begins so: with all of it, or at
  // least kStartBytes. Nothing if it is not.
  std::function<std::optional<storage::inflated::Packing>(
      absl::Span<const std::uint8_t> start)>
      packing_of;
  // Makes the parser of a file as if it were not compressed; of kUnknownSize if
  // it is. It lives as long as the format says.
  std::function<absl::StatusOr<ObjectParser*>(std::uint64_t size,
                                              const ReadSizes& read_sizes)>
      make;
};

// Parses a file that may be compressed. If it is, reads and inflates all of it,
// gives another parser what that wants to see, and finds the access points on
// the way. Else the other parser reads as if it were alone.
//
// Threads and blocking are as ObjectParser says, but for the disk, to which
// windows are written. `writer` and `memory`, which counts what it keeps,
// outlive it. Errors are those of the other parser, of PointFileWriter, and,
// naming file and byte, of PackedScan.
class InflatingParser final : public ObjectParser {
 public:
  // The most that a format looks at before it knows a file's packing.
  static constexpr std::uint64_t kStartBytes = 512;

  static absl::StatusOr<std::unique_ptr<InflatingParser>> Create(
      storage::ListedObject file, InnerFormat format,
      const ReadSizes& read_sizes, PointFileWriter* writer,
      base::WorkingMemory* memory);
  ~InflatingParser() override;

  std::optional<ByteRange> next_read() const override;
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;

  // To be called once, when next_read() returns nothing: nothing if the file is
  // not compressed.
  std::optional<storage::inflated::InflatedFile> TakeInflated();

 private:
  InflatingParser(storage::ListedObject file, InnerFormat format,
                  const ReadSizes& read_sizes, PointFileWriter* writer,
                  base::WorkingMemory* memory)
      : file_(std::move(file)),
        format_(std::move(format)),
        read_sizes_(read_sizes),
        writer_(writer),
        memory_(memory),
        pieces_(file_.version.size),
        whole_(file_.version.size, /*whole=*/true) {}

  std::uint64_t size() const { return file_.version.size; }
  // Looks at the file's start.
  absl::Status Begin(absl::Span<const std::uint8_t> start);
  absl::Status Inflate(absl::Span<const std::uint8_t> packed);
  absl::Status AddPoint(const storage::inflated::FoundPoint& point);
  // Gives the inner parser what it wants of the next inflated bytes.
  absl::Status Pass(absl::Span<const std::uint8_t> bytes);
  absl::Status Finish();

  const storage::ListedObject file_;
  const InnerFormat format_;
  const ReadSizes read_sizes_;
  PointFileWriter* const writer_;
  base::WorkingMemory* const memory_;

  ObjectParser* inner_ = nullptr;  // null until the start was seen
  // Null unless the file is compressed.
  std::unique_ptr<storage::inflated::PackedScan> scan_;
  storage::inflated::InflatedFile found_;
  PieceDigest pieces_;
  PieceDigest whole_;         // counts if pieces are kept
  std::uint64_t passed_ = 0;  // inflated bytes that the inner parser had
  // The last of these, from what it wants to see on.
  std::vector<std::uint8_t> wanted_;
};

}  // namespace forebay::dataset::inflated

#endif  // FOREBAY_SERVER_DATASET_INFLATED_INFLATING_PARSER_H_
