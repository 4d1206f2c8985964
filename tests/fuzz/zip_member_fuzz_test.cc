// Fuzzes the reading of a zip archive's member: its header, and the data after
// it. The reader writes only where it may. It gives the same bytes as zlib does
// when zlib decompresses the data byte by byte.

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "server/dataset/zip/zip_member.h"
#include "tests/fuzz/require.h"

namespace {

using forebay::dataset::zip::CheckCrc;
using forebay::dataset::zip::DataOffset;
using forebay::dataset::zip::Inflate;
using forebay::dataset::zip::kHeaderBytes;
using forebay::fuzz::Require;
using forebay::fuzz::Touch;
using Bytes = absl::Span<const std::uint8_t>;

constexpr std::size_t kStartBytes = 3;

// Decompresses bytes one at a time, up to the end of the deflated data. Returns
// nothing if the data is damaged, ends at another byte, or is longer than
// `most` bytes.
std::vector<std::uint8_t> SlowlyDecompressed(Bytes bytes, std::size_t most) {
  z_stream stream = {};
  Require(inflateInit2(&stream, -MAX_WBITS) == Z_OK);
  std::vector<std::uint8_t> out(most + 1);
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  int code = Z_OK;
  std::size_t at = 0;
  for (; at < bytes.size() && code == Z_OK; ++at) {
    std::uint8_t byte = bytes[at];
    stream.next_in = &byte;
    stream.avail_in = 1;
    do {
      code = inflate(&stream, Z_NO_FLUSH);
    } while (code == Z_OK && stream.avail_in > 0);
    if (code == Z_BUF_ERROR && stream.avail_in == 0) code = Z_OK;
  }
  out.resize(stream.total_out);
  inflateEnd(&stream);
  if (code != Z_STREAM_END || at != bytes.size() || out.size() > most) {
    out.clear();
  }
  return out;
}

}  // namespace

// The input is the length that the member should have (two bytes) and the
// length of its name. After these lies the member's header, with the name,
// extra fields and data.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < kStartBytes) return 0;
  const std::size_t length = data[0] | data[1] << 8;
  const std::size_t name_bytes = data[2];
  const Bytes bytes(data + kStartBytes, size - kStartBytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  const auto offset = DataOffset(
      text.substr(std::min<std::size_t>(kHeaderBytes, text.size()), name_bytes),
      bytes);
  // Most mutations damage the header, so the data is also read without it.
  const Bytes compressed = bytes.subspan(std::min<std::size_t>(
      offset.value_or(kHeaderBytes + name_bytes), bytes.size()));
  // The allocation has exactly the member's size, so that a write past its end
  // is found.
  const auto out = std::make_unique<std::uint8_t[]>(length);
  const auto status = Inflate(compressed, {out.get(), length});
  const auto expected = SlowlyDecompressed(compressed, length);
  if (length > 0) {
    Require(status.ok() == (expected.size() == length));
  }
  if (!status.ok()) return 0;
  Require(std::equal(expected.begin(), expected.end(), out.get()));
  Touch(out.get(), length);
  const auto crc = static_cast<std::uint32_t>(
      crc32(0, out.get(), static_cast<uInt>(length)));
  Require(CheckCrc({out.get(), length}, crc).ok());
  Require(!CheckCrc({out.get(), length}, crc + 1).ok());
  return 0;
}
