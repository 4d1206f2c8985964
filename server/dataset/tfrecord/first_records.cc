#include "server/dataset/tfrecord/first_records.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/range_read.h"
#include "server/dataset/tfrecord/framing.h"
#include "server/storage/inflated/packed_scan.h"
#include "server/storage/inflated/packing.h"
#include "server/storage/inflated/scan_of.h"

namespace forebay::dataset::tfrecord {
namespace {

using storage::inflated::Packing;

constexpr std::uint64_t kReadBytes = std::uint64_t{4} << 20;
constexpr std::size_t kMostRecords = 64;

// Deflate has two bits at least for 258 bytes; zstd four bytes for 128 KiB.
constexpr std::uint64_t kMostInflated = 1032;
constexpr std::uint64_t kMostOfZstd = std::uint64_t{32} << 10;
constexpr std::uint64_t kMostSize = std::uint64_t{1} << 62;

// Reads the beginning of one file.
class Start {
 public:
  Start(storage::ByteSource& source,
        const std::shared_ptr<const storage::Root>& root,
        const storage::ListedObject& file, base::WorkingMemory& memory,
        const std::stop_token& stop)
      : source_(source),
        root_(root),
        file_(file),
        memory_(memory),
        stop_(stop) {}

  absl::StatusOr<FirstRecords> Read() const {
    FOREBAY_ASSIGN_OR_RETURN(base::Bytes bytes,
                             ReadBytes(std::min(size(), kReadBytes)));
    if (const auto packing = PackingOf(bytes.span()); packing.has_value())
      return ReadPacked(*packing, std::move(bytes));
    auto first = FrameBytes(bytes.span(), size());
    if (!first.ok()) return base::Annotate(first.status(), file_.name);
    if (*first > bytes.size()) {
      FOREBAY_ASSIGN_OR_RETURN(bytes, ReadBytes(*first));
    }
    return RecordsOf(std::move(bytes));
  }

 private:
  std::uint64_t size() const { return file_.version.size; }

  absl::StatusOr<FirstRecords> RecordsOf(base::Bytes bytes) const {
    FirstRecords records;
    const absl::Status taken = TakeRecords(bytes.span(), &records);
    if (!taken.ok()) return base::Annotate(taken, file_.name);
    records.read.push_back(std::move(bytes));
    return records;
  }

  // `packed` is what the file begins with.
  absl::StatusOr<FirstRecords> ReadPacked(Packing packing,
                                          base::Bytes packed) const {
    FOREBAY_ASSIGN_OR_RETURN(base::Bytes bytes,
                             InflateStart(packing, packed.span(), kReadBytes));
    const std::uint64_t most =
        packing == Packing::kZstd ? kMostOfZstd : kMostInflated;
    const auto first = FrameBytes(
        bytes.span(), size() > kMostSize / most ? kMostSize : size() * most);
    if (!first.ok()) return base::Annotate(first.status(), file_.name);
    if (*first > bytes.size()) {
      const std::uint64_t more = *first + *first / 64 + kReadBytes;
      FOREBAY_ASSIGN_OR_RETURN(packed, ReadBytes(std::min(size(), more)));
      FOREBAY_ASSIGN_OR_RETURN(bytes,
                               InflateStart(packing, packed.span(), *first));
    }
    if (bytes.size() < *first) {
      return absl::DataLossError(absl::StrCat(
          file_.name, ": is truncated: its first record has ", *first,
          " bytes, of which ", bytes.size(), " are there"));
    }
    return RecordsOf(std::move(bytes));
  }

  // Returns at most `most` bytes. What is damaged behind them does not matter.
  absl::StatusOr<base::Bytes> InflateStart(
      Packing packing, absl::Span<const std::uint8_t> packed,
      std::uint64_t most) const {
    FOREBAY_RETURN_IF_ERROR(memory_.Grow(most));
    FOREBAY_ASSIGN_OR_RETURN(const auto scan,
                             storage::inflated::ScanOf(packing, &memory_));
    const auto inflated = std::make_shared<std::vector<std::uint8_t>>();
    inflated->reserve(most);
    const absl::Status taken = scan->Take(
        packed,
        [&](absl::Span<const std::uint8_t> bytes) {
          const auto part = bytes.subspan(0, most - inflated->size());
          inflated->insert(inflated->end(), part.begin(), part.end());
          return part.size() == bytes.size()
                     ? absl::OkStatus()
                     : absl::CancelledError("has enough");
        },
        [](const storage::inflated::FoundPoint&) { return absl::OkStatus(); });
    if (!taken.ok() && inflated->empty())
      return base::Annotate(taken, file_.name);
    return base::Bytes(inflated, *inflated);
  }

  // Bytes of the frame that begins there, which a file of that size has.
  static absl::StatusOr<std::uint64_t> FrameBytes(
      absl::Span<const std::uint8_t> bytes, std::uint64_t size) {
    if (bytes.size() < kHeaderBytes || size < kFrameBytes)
      return absl::DataLossError("is truncated: it has no whole record");
    FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t length, LengthOf(bytes));
    if (length > size - kFrameBytes) {
      return absl::DataLossError(
          absl::StrCat("is truncated: its first record has ", length,
                       " bytes, more than the file"));
    }
    return length + kFrameBytes;
  }

  // Damaged ones are passed over, unless there are no others in what was read.
  absl::Status TakeRecords(absl::Span<const std::uint8_t> all,
                           FirstRecords* records) const {
    absl::Status damaged;  // of the first such
    absl::Span<const std::uint8_t> bytes = all;
    while (bytes.size() >= kFrameBytes &&
           records->payloads.size() < kMostRecords) {
      const auto length = LengthOf(bytes);
      // The scan tells of what is damaged further behind.
      if (!length.ok() || *length > bytes.size() - kFrameBytes) break;
      const auto payload = PayloadOf(bytes.first(*length + kFrameBytes));
      if (payload.ok()) records->payloads.push_back(*payload);
      if (!payload.ok() && damaged.ok()) {
        damaged = base::Annotate(
            payload.status(),
            absl::StrCat("the record at byte ", all.size() - bytes.size()));
      }
      bytes.remove_prefix(*length + kFrameBytes);
    }
    return records->payloads.empty() ? damaged : absl::OkStatus();
  }

  absl::StatusOr<base::Bytes> ReadBytes(std::uint64_t length) const {
    return ReadRange({source_, root_, file_, {0, length}}, &memory_, stop_);
  }

  storage::ByteSource& source_;
  const std::shared_ptr<const storage::Root>& root_;
  const storage::ListedObject& file_;
  base::WorkingMemory& memory_;
  const std::stop_token& stop_;
};

}  // namespace

absl::StatusOr<FirstRecords> ReadFirstRecords(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    absl::Span<const storage::ListedObject> files, base::WorkingMemory& memory,
    const std::stop_token& stop) {
  const auto* const file = std::find_if(
      files.begin(), files.end(),
      [](const storage::ListedObject& one) { return one.version.size > 0; });
  if (file == files.end()) return FirstRecords();
  return Start(source, root, *file, memory, stop).Read();
}

}  // namespace forebay::dataset::tfrecord
