#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_COMPRESSED_COMPRESSED_FILES_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_COMPRESSED_COMPRESSED_FILES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/storage/compressed/access_point.h"
#include "server/storage/compressed/compression.h"
#include "server/storage/compressed/file_points.h"

namespace forebay::storage::compressed {

inline absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// These compress as gzip and zlib do. Level 0 stores the text uncompressed.
std::string Gzip(std::string_view text, int level = 6);
std::string Zlib(std::string_view text, int level = 6);

// How a zstd frame is compressed.
struct ZstdOptions {
  int level = 3;
  int window_log = 0;  // 0: the window of the level
  bool tells_size = true;
};
// Compresses as zstd does, into one frame with a checksum.
std::string Zstd(std::string_view text, const ZstdOptions& options = {});
// Returns a skippable frame (RFC 8878 3.1.2).
std::string SkippedFrame(std::string_view content);
// Compresses into frames of `each` bytes, each after a skippable frame, as
// pzstd does.
std::string ManyZstd(std::string_view text, std::size_t each);

// Compresses as `compression` says, with default options.
std::string Pack(std::string_view text, Compression compression);

// Noise() returns bytes that can hardly be compressed, and Prose() returns text
// that compresses well.
std::string Noise(std::size_t bytes, std::uint32_t seed);
std::string Prose(std::size_t bytes, std::uint32_t seed);

// A file's content, and its access points. Their windows and pieces are
// appended to `windows`.
struct Scanned {
  std::string text;
  DecompressedFile file;
};
absl::StatusOr<Scanned> ScanFile(std::string_view compressed,
                                 Compression compression, std::size_t piece,
                                 std::string* windows);

// Scans files, by name, all of which are compressed as `compression` says.
std::shared_ptr<const FilePoints> PointsOfFiles(
    const std::map<std::string, std::string>& compressed,
    Compression compression = Compression::kGzip);

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_COMPRESSED_COMPRESSED_FILES_H_
