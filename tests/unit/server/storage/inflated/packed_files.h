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

// Bytes that no compression makes much shorter, and text that it does.
std::string Noise(std::size_t bytes, std::uint32_t seed);
std::string Prose(std::size_t bytes, std::uint32_t seed);

// A file, inflated, and its access points, the windows of which are appended to
// `windows`.
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
