#include "server/dataset/zip/zip_member.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/zip/little_endian.h"

namespace forebay::dataset::zip {
namespace {

// The "local file header signature" (APPNOTE 4.3.7).
constexpr std::uint32_t kSignature = 0x04034b50;

// The most bytes to which a compressed byte decompresses: a deflate match is at
// most 258 bytes long and takes at least two bits (RFC 1951, section 3.2.5).
constexpr std::uint64_t kMostDecompressed = 1032;

// zlib counts bytes in 32 bits, so longer members are passed to it in pieces.
constexpr std::size_t kPiece = std::size_t{1} << 26;  // bytes

absl::Status NoMemory() {
  return absl::ResourceExhaustedError("there is no memory to inflate with");
}

// Returns the error of a damaged stream. `code` and `message` are zlib's last
// result. `unseen` is the number of input bytes that were not used, `room` the
// number of output bytes that were not filled.
absl::Status NotDecompressed(int code, const char* message, std::size_t unseen,
                             std::size_t room) {
  std::string reason = "its deflated data is damaged";
  if (code == Z_STREAM_END && room > 0) {
    absl::StrAppend(&reason, ": it gives ", room,
                    " bytes less than the directory says");
  } else if (code == Z_STREAM_END) {
    absl::StrAppend(&reason, ": it ends ", unseen, " bytes too early");
  } else if (code == Z_BUF_ERROR && unseen > 0) {
    absl::StrAppend(&reason, ": it gives more bytes than the directory says");
  } else if (code == Z_BUF_ERROR) {
    absl::StrAppend(&reason, ": it has no end");
  } else if (message != nullptr) {
    absl::StrAppend(&reason, " (", message, ")");
  }
  return absl::DataLossError(reason);
}

// Whether the name in a member's header is `name`. In the header, all slashes
// may be backslashes (see ZipDirectory).
bool IsNameOf(std::string_view in_header, std::string_view name) {
  if (in_header == name) return true;
  return in_header.find('/') == in_header.npos &&
         std::equal(
             in_header.begin(), in_header.end(), name.begin(), name.end(),
             [](char a, char b) { return a == b || (a == '\\' && b == '/'); });
}

}  // namespace

bool CanHave(std::uint64_t length, std::uint64_t compressed, ZipMethod method) {
  if (method == ZipMethod::kStored) return compressed == length;
  const std::uint64_t least =
      length / kMostDecompressed + (length % kMostDecompressed == 0 ? 0 : 1);
  return compressed >= least;
}

absl::StatusOr<std::uint64_t> DataOffset(std::string_view name,
                                         absl::Span<const std::uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes ||
      bytes.size() - kHeaderBytes < name.size()) {
    return absl::DataLossError("the archive ends in a member's header");
  }
  if (NumberAt<std::uint32_t>(bytes, 0) != kSignature) {
    return absl::DataLossError("there is no header where the member begins");
  }
  // "File name length" and "extra field length" (APPNOTE 4.3.7).
  const auto name_bytes = NumberAt<std::uint16_t>(bytes, 26);
  const auto extra_bytes = NumberAt<std::uint16_t>(bytes, 28);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  if (name_bytes != name.size() ||
      !IsNameOf(text.substr(kHeaderBytes, name.size()), name)) {
    return absl::DataLossError(
        "the member's header has another name than the directory");
  }
  return kHeaderBytes + name_bytes + extra_bytes;
}

absl::Status Inflate(absl::Span<const std::uint8_t> compressed,
                     absl::Span<std::uint8_t> out) {
  // For an empty file, some writers store no deflate stream at all.
  if (compressed.empty() && out.empty()) return absl::OkStatus();
  z_stream stream = {};
  std::uint8_t nowhere = 0;  // zlib takes no null pointer
  stream.next_out = &nowhere;
  // Negative window bits mean raw deflate data, without a zlib header.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return NoMemory();
  const absl::Cleanup end = [&stream] { inflateEnd(&stream); };
  std::size_t unseen = compressed.size();
  std::size_t room = out.size();
  int code = Z_OK;
  while (code == Z_OK) {
    if (stream.avail_in == 0 && unseen > 0) {
      // zlib only reads through next_in, although the type of next_in is not
      // const.
      stream.next_in = const_cast<Bytef*>(compressed.last(unseen).data());
      stream.avail_in = static_cast<uInt>(std::min(unseen, kPiece));
      unseen -= stream.avail_in;
    }
    if (stream.avail_out == 0 && room > 0) {
      stream.next_out = out.last(room).data();
      stream.avail_out = static_cast<uInt>(std::min(room, kPiece));
      room -= stream.avail_out;
    }
    // If one call inflates everything, Z_FINISH keeps zlib from copying the
    // last 32 KiB of output to a window.
    const bool all = unseen == 0 && room == 0;
    code = inflate(&stream, all ? Z_FINISH : Z_NO_FLUSH);
  }
  unseen += stream.avail_in;
  room += stream.avail_out;
  if (code == Z_STREAM_END && unseen == 0 && room == 0) return absl::OkStatus();
  if (code == Z_MEM_ERROR) return NoMemory();
  return NotDecompressed(code, stream.msg, unseen, room);
}

absl::Status CheckCrc(absl::Span<const std::uint8_t> bytes,
                      std::uint32_t crc32) {
  // If the pointer is null, zlib returns 0, which is the CRC of no bytes.
  const auto found =
      static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
  if (found == crc32) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "is damaged: its CRC-32 is ", absl::Hex(found, absl::kZeroPad8),
      " instead of ", absl::Hex(crc32, absl::kZeroPad8)));
}

}  // namespace forebay::dataset::zip
