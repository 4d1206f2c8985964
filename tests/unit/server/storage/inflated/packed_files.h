#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_INFLATED_PACKED_FILES_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_INFLATED_PACKED_FILES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/storage/inflated/access_point.h"
#include "server/storage/inflated/file_points.h"
#include "server/storage/inflated/packing.h"

namespace forebay::storage::inflated {

inline absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Compresses as gzip and zlib do. Level 0 stores.
std::string Gzip(std::string_view text, int level = 6);
std::string Zlib(std::string_view text, int level = 6);

// How a zstd frame is made.
struct ZstdOptions {
  int level = 3;
  int window_log = 0;  // 0: the level's
  bool tells_size = true;
};
// Compresses as zstd does, into one frame with a checksum.
std::string Zstd(std::string_view text, const ZstdOptions& options = {});
// A frame that decoders skip.
std::string SkippedFrame(std::string_view content);
// Frames of `each` bytes, with such ones before them, as pzstd makes them.
std::string ManyZstd(std::string_view text, std::size_t each);

// Compresses so, with no options.
std::string Pack(std::string_view text, Packing packing);

// Bytes that no compression makes much shorter, and text that it does.
std::string Noise(std::size_t bytes, std::uint32_t seed);
std::string Prose(std::size_t bytes, std::uint32_t seed);

// A file, inflated, and its access points, the windows and pieces of which are
// appended to `windows`.
struct Scanned {
  std::string text;
  InflatedFile file;
};
absl::StatusOr<Scanned> ScanFile(std::string_view packed, Packing packing,
                                 std::size_t piece, std::string* windows);

// Scans files, by name, all packed so.
std::shared_ptr<const FilePoints> PointsOfFiles(
    const std::map<std::string, std::string>& packed,
    Packing packing = Packing::kGzip);

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_INFLATED_PACKED_FILES_H_
