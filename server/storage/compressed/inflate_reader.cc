#include "server/storage/compressed/inflate_reader.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

// A reader begins either at a member's beginning or in the middle of a member.
// In the middle, zlib runs in raw mode: it gets the point's window as a
// dictionary, and the bits of the first byte that belong to the block. In raw
// mode zlib does not see the member's trailer, so the reader skips it itself.
// The trailer's checksum cannot be checked, because the bytes before the point
// are missing. The scan has checked it once.
//
// Later members of a gzip file are read completely, and zlib checks their
// trailers.

namespace forebay::storage::compressed {
namespace {

// The windowBits of zlib: a window of 32 KiB, and no header, a gzip header or a
// zlib header.
constexpr int kRawBits = -MAX_WBITS;
constexpr int kGzipBits = MAX_WBITS + 16;
constexpr int kZlibBits = MAX_WBITS;

// The bytes of a member's trailer. A gzip member ends with CRC32 and ISIZE (RFC
// 1952, 2.3.1), a zlib stream with ADLER32 (RFC 1950, 2.2).
constexpr std::uint64_t kGzipTrailer = 8;
constexpr std::uint64_t kZlibTrailer = 4;

// The most bytes that zlib is given at once: it counts in 32 bits.
constexpr std::size_t kPiece = std::size_t{1} << 26;

absl::Status NoMemory() {
  return absl::ResourceExhaustedError("there is no memory to inflate with");
}

absl::Status Damaged(const char* message) {
  return absl::DataLossError(
      message == nullptr
          ? "its compressed data is damaged"
          : absl::StrCat("its compressed data is damaged (", message, ")"));
}

}  // namespace

struct InflateReader::State {
  ~State() { inflateEnd(&stream); }

  z_stream stream = {};
};

absl::StatusOr<std::unique_ptr<InflateReader>> InflateReader::Create(
    Compression compression, const AccessPoint& point,
    absl::Span<const std::uint8_t> window, std::uint64_t offset,
    absl::Span<std::uint8_t> out, std::shared_ptr<ScratchPool> scratches) {
  FOREBAY_CHECK(offset >= point.offset);
  const bool is_raw = point.window_bytes > 0;
  auto state = std::make_unique<State>();
  const int bits = compression == Compression::kGzip ? kGzipBits : kZlibBits;
  if (inflateInit2(&state->stream, is_raw ? kRawBits : bits) != Z_OK)
    return NoMemory();
  if (is_raw && inflateSetDictionary(&state->stream, window.data(),
                                     static_cast<uInt>(window.size())) != Z_OK)
    return NoMemory();
  std::unique_ptr<InflateReader> reader(
      new InflateReader(compression, offset - point.offset, out,
                        std::move(scratches), std::move(state)));
  reader->is_raw_ = is_raw;
  reader->foreign_bits_ = is_raw ? static_cast<int>(point.bit % 8) : 0;
  return reader;
}

InflateReader::InflateReader(Compression compression, std::uint64_t skip,
                             absl::Span<std::uint8_t> out,
                             std::shared_ptr<ScratchPool> scratches,
                             std::unique_ptr<State> state)
    : compression_(compression),
      scratches_(std::move(scratches)),
      state_(std::move(state)),
      skip_(skip),
      out_(out) {}

InflateReader::~InflateReader() = default;

absl::StatusOr<std::uint64_t> InflateReader::Take(
    absl::Span<const std::uint8_t> compressed) {
  const std::size_t given = compressed.size();
  std::uint64_t left = kMostAtOnce;
  DecompressionScratch scratch(scratches_.get());
  if (foreign_bits_ > 0 && !compressed.empty()) {
    inflatePrime(&state_->stream, 8 - foreign_bits_,
                 compressed.front() >> foreign_bits_);
    compressed.remove_prefix(1);
    foreign_bits_ = 0;
  }
  while (!done() && left > 0 && (!compressed.empty() || is_pending_)) {
    if (place_ == Place::kInTrailer) {
      const std::uint64_t took =
          std::min<std::uint64_t>(trailer_, compressed.size());
      compressed.remove_prefix(took);
      trailer_ -= took;
      if (trailer_ == 0) place_ = Place::kBetweenMembers;
    } else if (place_ == Place::kBetweenMembers) {
      // The scan found as many bytes in the members as the part needs, so
      // another member must follow.
      if (compression_ == Compression::kZlib || compressed.front() != 0x1f)
        return absl::DataLossError("its compressed data ends too early");
      if (inflateReset2(&state_->stream, kGzipBits) != Z_OK) return NoMemory();
      is_raw_ = false;
      place_ = Place::kInMember;
    } else {
      FOREBAY_ASSIGN_OR_RETURN(
          const std::uint64_t took,
          InflateSome(compressed, absl::MakeSpan(scratch.bytes()), &left));
      compressed.remove_prefix(took);
    }
  }
  return given - compressed.size();
}

absl::StatusOr<std::uint64_t> InflateReader::InflateSome(
    absl::Span<const std::uint8_t> compressed, absl::Span<std::uint8_t> scratch,
    std::uint64_t* left) {
  z_stream& stream = state_->stream;
  const absl::Span<std::uint8_t> room =
      skip_ > 0 ? scratch.first(
                      std::min<std::uint64_t>({skip_, scratch.size(), *left}))
                : out_.subspan(filled_, *left);
  const std::size_t given = std::min(compressed.size(), kPiece);
  stream.next_in = const_cast<Bytef*>(compressed.data());
  stream.avail_in = static_cast<uInt>(given);
  stream.next_out = room.data();
  stream.avail_out = static_cast<uInt>(room.size());
  const int code = inflate(&stream, Z_NO_FLUSH);
  const std::size_t out_bytes = room.size() - stream.avail_out;
  *left -= out_bytes;
  if (skip_ > 0)
    skip_ -= out_bytes;
  else
    filled_ += out_bytes;
  is_pending_ = code == Z_OK && stream.avail_out == 0;
  if (code == Z_STREAM_END) {
    place_ = Place::kBetweenMembers;
    if (is_raw_) {
      place_ = Place::kInTrailer;
      trailer_ =
          compression_ == Compression::kGzip ? kGzipTrailer : kZlibTrailer;
    }
  } else if (code == Z_MEM_ERROR) {
    return NoMemory();
  } else if (code != Z_OK && (code != Z_BUF_ERROR || given > 0)) {
    return Damaged(stream.msg);
  }
  return given - stream.avail_in;
}

}  // namespace forebay::storage::compressed
