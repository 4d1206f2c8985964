// A guess of the fields needs a few records. In most files, the first 4 MiB
// have enough of them, and one read suffices. If the first record is longer, it
// is read again as a whole. The first bytes tell whether the file is
// compressed. If it is, the bytes read are decompressed as far as possible.
//
// Lengths are untrusted until their CRC matches, and are compared with the
// file's size before memory is reserved.
#include "server/dataset/tfrecord/first_tfrecords.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/range_read.h"
#include "server/dataset/tfrecord/framing.h"
#include "server/storage/compressed/compressed_scan.h"
#include "server/storage/compressed/compression.h"
#include "server/storage/compressed/scan_of.h"

namespace forebay::dataset::tfrecord {
namespace {

using storage::compressed::Compression;

// The number of bytes that are read first, and that are decompressed first.
constexpr std::uint64_t kReadBytes = std::uint64_t{4} << 20;
constexpr std::size_t kMostRecords = 64;

// The most bytes to which a compressed byte can decompress. Deflate needs at
// least two bits, a length code and a distance code, for 258 bytes (RFC 1951
// 3.2.5). zstd needs four bytes, a block header and an RLE block's byte, for
// 128 KiB (RFC 8878 3.1.1.2). A first record that claims to be longer is
// damaged.
constexpr std::uint64_t kMostDecompressed = 1032;
constexpr std::uint64_t kMostOfZstd = std::uint64_t{32} << 10;
// The limit of decompressed sizes, so that sums do not overflow.
constexpr std::uint64_t kMostSize = std::uint64_t{1} << 62;

// Reads the first records of one file, which is not empty.
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

  absl::StatusOr<FirstTfrecords> Read() const {
    FOREBAY_ASSIGN_OR_RETURN(base::Bytes bytes,
                             ReadBytes(std::min(size(), kReadBytes)));
    if (const auto compression = CompressionOf(bytes.span());
        compression.has_value())
      return ReadCompressed(*compression, std::move(bytes));
    auto first = FrameBytes(bytes.span(), size());
    if (!first.ok()) return base::Annotate(first.status(), file_.name);
    if (*first > bytes.size()) {
      FOREBAY_ASSIGN_OR_RETURN(bytes, ReadBytes(*first));
    }
    return RecordsOf(std::move(bytes));
  }

 private:
  std::uint64_t size() const { return file_.version.size; }

  absl::StatusOr<FirstTfrecords> RecordsOf(base::Bytes bytes) const {
    FirstTfrecords records;
    const absl::Status taken = TakeRecords(bytes.span(), &records);
    if (!taken.ok()) return base::Annotate(taken, file_.name);
    records.read.push_back(std::move(bytes));
    return records;
  }

  // Reads the records of a compressed file that begins with `compressed`. If
  // the first record is longer than kReadBytes, decompresses more of the file.
  absl::StatusOr<FirstTfrecords> ReadCompressed(Compression compression,
                                                base::Bytes compressed) const {
    FOREBAY_ASSIGN_OR_RETURN(
        base::Bytes bytes,
        DecompressStart(compression, compressed.span(), kReadBytes));
    const std::uint64_t most =
        compression == Compression::kZstd ? kMostOfZstd : kMostDecompressed;
    const auto first = FrameBytes(
        bytes.span(), size() > kMostSize / most ? kMostSize : size() * most);
    if (!first.ok()) return base::Annotate(first.status(), file_.name);
    if (*first > bytes.size()) {
      // Compression may make incompressible bytes slightly longer. So the
      // record takes at most this many bytes of the file.
      const std::uint64_t more = *first + *first / 64 + kReadBytes;
      FOREBAY_ASSIGN_OR_RETURN(compressed, ReadBytes(std::min(size(), more)));
      FOREBAY_ASSIGN_OR_RETURN(
          bytes, DecompressStart(compression, compressed.span(), *first));
    }
    if (bytes.size() < *first) {
      return absl::DataLossError(absl::StrCat(
          file_.name, ": is truncated: its first record has ", *first,
          " bytes, of which ", bytes.size(), " are there"));
    }
    return RecordsOf(std::move(bytes));
  }

  // Returns the first `most` decompressed bytes, or all bytes if there are
  // fewer. Damage behind these bytes does not matter. The sink cancels the scan
  // when it has enough bytes.
  absl::StatusOr<base::Bytes> DecompressStart(
      Compression compression, absl::Span<const std::uint8_t> compressed,
      std::uint64_t most) const {
    FOREBAY_RETURN_IF_ERROR(memory_.Grow(most));
    FOREBAY_ASSIGN_OR_RETURN(
        const auto scan, storage::compressed::ScanOf(compression, &memory_));
    const auto decompressed = std::make_shared<std::vector<std::uint8_t>>();
    decompressed->reserve(most);
    const absl::Status taken = scan->Take(
        compressed,
        [&](absl::Span<const std::uint8_t> bytes) {
          const auto part = bytes.subspan(0, most - decompressed->size());
          decompressed->insert(decompressed->end(), part.begin(), part.end());
          return part.size() == bytes.size()
                     ? absl::OkStatus()
                     : absl::CancelledError("has enough");
        },
        [](const storage::compressed::ScanPoint&) { return absl::OkStatus(); });
    if (!taken.ok() && decompressed->empty())
      return base::Annotate(taken, file_.name);
    return base::Bytes(decompressed, *decompressed);
  }

  // Returns the number of bytes of the frame at the start of `bytes`. Checks
  // that the frame ends within the file, which has `size` bytes.
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

  // Adds the payloads of the complete records in `all`, except damaged records.
  // If all records are damaged, returns the error of the first.
  absl::Status TakeRecords(absl::Span<const std::uint8_t> all,
                           FirstTfrecords* records) const {
    absl::Status damaged;  // the error of the first damaged record
    absl::Span<const std::uint8_t> bytes = all;
    while (bytes.size() >= kFrameBytes &&
           records->payloads.size() < kMostRecords) {
      const auto length = LengthOf(bytes);
      // A damaged length ends the guess without an error. The scan reports it.
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

absl::StatusOr<FirstTfrecords> ReadFirstRecords(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    absl::Span<const storage::ListedObject> files, base::WorkingMemory& memory,
    const std::stop_token& stop) {
  const auto* const file = std::find_if(
      files.begin(), files.end(),
      [](const storage::ListedObject& one) { return one.version.size > 0; });
  if (file == files.end()) return FirstTfrecords();
  return Start(source, root, *file, memory, stop).Read();
}

}  // namespace forebay::dataset::tfrecord
