#ifndef FOREBAY_SERVER_DATASET_COMPRESSED_DECOMPRESSING_PARSER_H_
#define FOREBAY_SERVER_DATASET_COMPRESSED_DECOMPRESSING_PARSER_H_

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
#include "server/dataset/compressed/piece_digest.h"
#include "server/dataset/compressed/point_file.h"
#include "server/dataset/object_parser.h"
#include "server/storage/compressed/access_point.h"
#include "server/storage/compressed/compressed_scan.h"
#include "server/storage/compressed/compression.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::compressed {

// A format whose files may be compressed as a whole.
struct InnerFormat {
  // Returns how a file that begins with `start` is compressed, or nothing if
  // the file is not compressed. `start` has at least kStartBytes bytes, or is
  // the whole file.
  std::function<std::optional<storage::compressed::Compression>(
      absl::Span<const std::uint8_t> start)>
      compression_of;
  // Makes the parser of the file's decompressed content. `size` is kUnknownSize
  // if the file is compressed. The parser is owned by whoever sets this
  // function, and outlives the DecompressingParser's last read.
  std::function<absl::StatusOr<ObjectParser*>(std::uint64_t size,
                                              const ReadSizes& read_sizes)>
      make;
};

// Parses a file that may be compressed. If the file is compressed, this parser
// reads and decompresses all of it. In the same pass, it finds the access
// points, where later reads can begin to decompress. It also passes to an inner
// parser the bytes that the inner parser wants. If the file is not compressed,
// the inner parser chooses the reads.
//
// For threads and ownership, see ObjectParser. Blocks only for the disk, to
// which it writes the windows of access points. `memory` counts the access
// points. `writer` and `memory` outlive the parser. Errors are those of the
// inner parser, of PointFileWriter and of CompressedScan. Those of
// CompressedScan name the file and the byte.
class DecompressingParser final : public ObjectParser {
 public:
  // The most bytes of a file's start that a format needs to tell how the file
  // is compressed.
  static constexpr std::uint64_t kStartBytes = 512;

  // Begins to parse `file`. An empty file is complete at once. `read_sizes` are
  // the sizes of reads of an uncompressed file.
  static absl::StatusOr<std::unique_ptr<DecompressingParser>> Create(
      storage::ListedObject file, InnerFormat format,
      const ReadSizes& read_sizes, PointFileWriter* writer,
      base::WorkingMemory* memory);
  ~DecompressingParser() override;

  std::optional<ByteRange> next_read() const override;
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;

  // Returns the size and the access points of the decompressed file, or nothing
  // if the file is not compressed. To be called once, when next_read() returns
  // nothing.
  std::optional<storage::compressed::DecompressedFile> TakeDecompressed();

 private:
  DecompressingParser(storage::ListedObject file, InnerFormat format,
                      const ReadSizes& read_sizes, PointFileWriter* writer,
                      base::WorkingMemory* memory)
      : file_(std::move(file)),
        format_(std::move(format)),
        read_sizes_(read_sizes),
        writer_(writer),
        memory_(memory),
        pieces_(file_.version.size),
        whole_(file_.version.size, /*whole=*/true) {}

  // Returns the size in bytes of the file as it is stored, compressed or not.
  std::uint64_t size() const { return file_.version.size; }
  // Finds the compression by the file's first bytes, and makes the inner
  // parser.
  absl::Status Begin(absl::Span<const std::uint8_t> start);
  // Decompresses the next bytes of the file.
  absl::Status Decompress(absl::Span<const std::uint8_t> compressed);
  // Stores an access point, with its window or piece.
  absl::Status AddPoint(const storage::compressed::ScanPoint& point);
  // Takes the next decompressed bytes, and passes on the part of them that the
  // inner parser wants.
  absl::Status Pass(absl::Span<const std::uint8_t> bytes);
  // Tells the inner parser the decompressed size, and lets it parse to the end.
  absl::Status Finish();

  const storage::ListedObject file_;
  const InnerFormat format_;
  const ReadSizes read_sizes_;
  PointFileWriter* const writer_;
  base::WorkingMemory* const memory_;

  ObjectParser* inner_ = nullptr;  // null before Begin
  // Decompresses the file. Null if the file is not compressed.
  std::unique_ptr<storage::compressed::CompressedScan> scan_;
  storage::compressed::DecompressedFile decompressed_file_;
  PieceDigest pieces_;
  // The digest of all bytes, used if `decompressed_file_` has pieces.
  PieceDigest whole_;
  // The number of decompressed bytes that Pass has taken so far.
  std::uint64_t passed_ = 0;
  // The bytes before passed_ that are kept: those from the start of the inner
  // parser's next read on.
  std::vector<std::uint8_t> wanted_;
};

}  // namespace forebay::dataset::compressed

#endif  // FOREBAY_SERVER_DATASET_COMPRESSED_DECOMPRESSING_PARSER_H_
