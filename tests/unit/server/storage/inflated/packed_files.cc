#include "tests/unit/server/storage/inflated/packed_files.h"

#include <zlib.h>

#include <random>
#include <utility>

#include "server/base/check.h"
#include "server/base/crc32c.h"
#include "server/base/status.h"
#include "server/storage/inflated/inflate_scan.h"
#include "server/storage/inflated/windows.h"

namespace forebay::storage::inflated {
namespace {

std::string Deflated(std::string_view text, int level, int bits) {
  z_stream stream = {};
  FOREBAY_CHECK(deflateInit2(&stream, level, Z_DEFLATED, bits, 8,
                             Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in =
      const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  FOREBAY_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

std::string Gzip(std::string_view text, int level) {
  return Deflated(text, level, MAX_WBITS + 16);
}

std::string Zlib(std::string_view text, int level) {
  return Deflated(text, level, MAX_WBITS);
}

std::string Noise(std::size_t bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

std::string Prose(std::size_t bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < bytes) {
    text += std::to_string(random() % 5000);
    text += ' ';
  }
  text.resize(bytes);
  return text;
}

absl::StatusOr<Scanned> ScanFile(std::string_view packed, Packing packing,
                                 std::size_t piece, std::string* windows) {
  FOREBAY_ASSIGN_OR_RETURN(const auto scan, InflateScan::Create(packing));
  Scanned scanned;
  scanned.file.packing = packing;
  while (!packed.empty()) {
    const std::string_view next = packed.substr(0, piece);
    packed.remove_prefix(next.size());
    FOREBAY_RETURN_IF_ERROR(scan->Take(
        AsBytes(next),
        [&](absl::Span<const std::uint8_t> bytes) {
          scanned.text.append(bytes.begin(), bytes.end());
          return absl::OkStatus();
        },
        [&](const FoundPoint& found) {
          AccessPoint point = {.offset = found.offset, .bit = found.bit};
          if (!found.window.empty()) {
            const std::string window = PackWindow(found.window);
            point.window_offset = windows->size();
            point.window_bytes = static_cast<std::uint32_t>(window.size());
            point.window_crc32c = base::Crc32c(found.window);
            *windows += window;
          }
          scanned.file.points.push_back(point);
          return absl::OkStatus();
        }));
  }
  FOREBAY_RETURN_IF_ERROR(scan->Finish());
  scanned.file.size = scan->inflated();
  return scanned;
}

std::shared_ptr<const FilePoints> PointsOfFiles(
    const std::map<std::string, std::string>& packed, Packing packing) {
  FilePointsParts parts;
  std::string windows;
  for (const auto& [name, bytes] : packed) {
    const auto scanned = ScanFile(bytes, packing, 100'000, &windows);
    FOREBAY_CHECK(scanned.ok());
    parts.files.push_back({.name_offset = parts.names.size(),
                           .name_length = name.size(),
                           .packed_size = bytes.size(),
                           .size = scanned->file.size,
                           .first_point = parts.points.size(),
                           .packing = packing});
    parts.names += name;
    parts.points.insert(parts.points.end(), scanned->file.points.begin(),
                        scanned->file.points.end());
  }
  parts.windows = std::make_shared<const Windows>(std::move(windows));
  auto points = FilePoints::Create(std::move(parts));
  FOREBAY_CHECK(points.ok());
  return *std::move(points);
}

}  // namespace forebay::storage::inflated
