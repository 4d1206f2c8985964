#include "tests/unit/server/storage/compressed/compressed_files.h"

#include <zlib.h>
#include <zstd.h>

#include <random>
#include <utility>

#include "server/base/check.h"
#include "server/base/crc32c.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/storage/compressed/compressed_scan.h"
#include "server/storage/compressed/point_windows.h"
#include "server/storage/compressed/scan_of.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::storage::compressed {
namespace {

std::string Deflated(std::string_view text, int level, int bits) {
  z_stream stream = {};
  FOREBAY_CHECK(deflateInit2(&stream, level, Z_DEFLATED, bits, 8,
                             Z_DEFAULT_STRATEGY) == Z_OK);
  std::string compressed(deflateBound(&stream, text.size()), '\0');
  stream.next_in =
      const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  FOREBAY_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  return compressed;
}

}  // namespace

std::string Gzip(std::string_view text, int level) {
  return Deflated(text, level, MAX_WBITS + 16);
}

std::string Zlib(std::string_view text, int level) {
  return Deflated(text, level, MAX_WBITS);
}

std::string Zstd(std::string_view text, const ZstdOptions& options) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  const auto set = [&](ZSTD_cParameter parameter, int value) {
    FOREBAY_CHECK(
        ZSTD_isError(ZSTD_CCtx_setParameter(context, parameter, value)) == 0);
  };
  set(ZSTD_c_compressionLevel, options.level);
  set(ZSTD_c_windowLog, options.window_log);
  set(ZSTD_c_checksumFlag, 1);
  std::string compressed(ZSTD_compressBound(text.size()) + 64, '\0');
  if (options.tells_size) ZSTD_CCtx_setPledgedSrcSize(context, text.size());
  ZSTD_inBuffer in = {text.data(), text.size(), 0};
  ZSTD_outBuffer out = {compressed.data(), compressed.size(), 0};
  // With ZSTD_e_continue first, the frame's header has the size only if that
  // was set above. A frame that is compressed in one call always has it.
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
  FOREBAY_CHECK(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) == 0);
  ZSTD_freeCCtx(context);
  compressed.resize(out.pos);
  return compressed;
}

std::string SkippedFrame(std::string_view content) {
  std::string frame = "\x50\x2a\x4d\x18";
  for (int shift = 0; shift < 32; shift += 8)
    frame += static_cast<char>(content.size() >> shift);
  frame += content;
  return frame;
}

std::string ManyZstd(std::string_view text, std::size_t each) {
  std::string compressed;
  for (std::size_t at = 0; at < text.size(); at += each) {
    compressed += SkippedFrame("size");
    compressed += Zstd(text.substr(at, each));
  }
  return compressed;
}

std::string Pack(std::string_view text, Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return Gzip(text);
    case Compression::kZlib:
      return Zlib(text);
    case Compression::kZstd:
      break;
  }
  return Zstd(text);
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

absl::StatusOr<Scanned> ScanFile(std::string_view compressed,
                                 Compression compression, std::size_t piece,
                                 std::string* windows) {
  base::WorkingMemory memory(base::AmpleBudget(), "a scan");
  FOREBAY_ASSIGN_OR_RETURN(const auto scan, ScanOf(compression, &memory));
  Scanned scanned;
  scanned.file.compression = compression;
  const auto keep = [&](const ScanPoint& found) {
    AccessPoint point = {.offset = found.offset, .bit = found.bit};
    const auto content = found.piece.empty() ? found.window : found.piece;
    if (!content.empty()) {
      const std::string kept = CompressOrStore(content);
      point.window_offset = windows->size();
      point.window_bytes = static_cast<std::uint32_t>(kept.size());
      point.window_crc32c = base::Crc32c(content);
      *windows += kept;
    }
    scanned.file.points.push_back(point);
    return absl::OkStatus();
  };
  while (!compressed.empty()) {
    const std::string_view next = compressed.substr(0, piece);
    compressed.remove_prefix(next.size());
    FOREBAY_RETURN_IF_ERROR(scan->Take(
        AsBytes(next),
        [&](absl::Span<const std::uint8_t> bytes) {
          scanned.text.append(bytes.begin(), bytes.end());
          return absl::OkStatus();
        },
        keep));
  }
  FOREBAY_RETURN_IF_ERROR(scan->Finish(keep));
  scanned.file.size = scan->decompressed_bytes();
  return scanned;
}

std::shared_ptr<const FilePoints> PointsOfFiles(
    const std::map<std::string, std::string>& compressed,
    Compression compression) {
  FilePointsParts parts;
  std::string windows;
  for (const auto& [name, bytes] : compressed) {
    const auto scanned = ScanFile(bytes, compression, 100'000, &windows);
    FOREBAY_CHECK(scanned.ok());
    parts.files.push_back({.name_offset = parts.names.size(),
                           .name_length = name.size(),
                           .compressed_size = bytes.size(),
                           .size = scanned->file.size,
                           .first_point = parts.points.size(),
                           .compression = compression});
    parts.names += name;
    parts.points.insert(parts.points.end(), scanned->file.points.begin(),
                        scanned->file.points.end());
  }
  parts.windows = std::make_shared<const PointWindows>(std::move(windows));
  auto points = FilePoints::Create(std::move(parts));
  FOREBAY_CHECK(points.ok());
  return *std::move(points);
}

}  // namespace forebay::storage::compressed
