#include "server/dataset/shards/gzip_member.h"

#include <zlib.h>

#include <algorithm>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/base/check.h"

namespace forebay::dataset::shards {
namespace {

// The window bits for inflateInit2: the largest window, plus 16 for the gzip
// format (zlib's manual).
constexpr int kGzipBits = MAX_WBITS + 16;
// The most bytes to which a compressed byte decompresses: a deflate match is at
// most 258 bytes long and takes at least two bits (RFC 1951, section 3.2.5).
constexpr std::uint64_t kMostDecompressed = 1032;

// zlib counts bytes in uInt. An index stores lengths of members in 32 bits, so
// every length fits.
static_assert(sizeof(uInt) == sizeof(std::uint32_t));

absl::Status Damaged(std::string_view reason) {
  return absl::DataLossError(
      absl::StrCat("its gzip data is damaged: ", std::string(reason)));
}

// Returns the error for `code`, the last result of zlib.
absl::Status NotDecompressed(int code, const z_stream& stream) {
  if (code == Z_MEM_ERROR)
    return absl::ResourceExhaustedError("there is no memory to inflate with");
  if (code == Z_BUF_ERROR || code == Z_OK) {
    return Damaged(stream.avail_in == 0
                       ? "it has no end"
                       : "it gives more bytes than its end says");
  }
  return Damaged(stream.msg == nullptr ? "it is none" : stream.msg);
}

}  // namespace

bool IsGzipped(std::string_view extension) {
  return extension == "gz" || extension.ends_with(".gz");
}

std::uint32_t DecompressedBytes(absl::Span<const std::uint8_t> end,
                                std::uint64_t length) {
  FOREBAY_CHECK(end.size() == kGzipEndBytes);
  // ISIZE is little-endian (RFC 1952, section 2.1).
  std::uint32_t bytes = 0;
  for (std::size_t i = end.size(); i > 0; --i) bytes = bytes << 8 | end[i - 1];
  return bytes / kMostDecompressed > length ? 0 : bytes;
}

absl::Status Gunzip(absl::Span<const std::uint8_t> compressed,
                    absl::Span<std::uint8_t> out) {
  FOREBAY_CHECK(compressed.size() <= UINT32_MAX && out.size() <= UINT32_MAX);
  z_stream stream = {};
  if (inflateInit2(&stream, kGzipBits) != Z_OK)
    return NotDecompressed(Z_MEM_ERROR, stream);
  const absl::Cleanup end = [&stream] { inflateEnd(&stream); };
  std::uint8_t nowhere = 0;  // zlib takes no null pointer
  // zlib only reads from next_in, although its type is not const.
  stream.next_in = const_cast<Bytef*>(compressed.data());
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = out.empty() ? &nowhere : out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = inflate(&stream, Z_FINISH);
  if (code != Z_STREAM_END) return NotDecompressed(code, stream);
  if (stream.avail_out > 0) {
    return Damaged(absl::StrCat("it gives ", stream.avail_out,
                                " bytes less than its end says"));
  }
  // Padding of zeros behind the end is harmless; Python's gzip skips it, too.
  const auto rest = compressed.last(stream.avail_in);
  if (std::any_of(rest.begin(), rest.end(),
                  [](std::uint8_t byte) { return byte != 0; }))
    return Damaged("something lies behind its end");
  return absl::OkStatus();
}

}  // namespace forebay::dataset::shards
