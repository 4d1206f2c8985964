#include "server/storage/inflated/inflate_reader.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::storage::inflated {
namespace {

constexpr int kRawBits = -MAX_WBITS;
constexpr int kGzipBits = MAX_WBITS + 16;
constexpr int kZlibBits = MAX_WBITS;

// Of a member's end: its checksum, and, of gzip, its length.
constexpr std::uint64_t kGzipTrailer = 8;
constexpr std::uint64_t kZlibTrailer = 4;

constexpr std::size_t kPiece = std::size_t{1} << 26;  // bytes

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
    Packing packing, const AccessPoint& point,
    absl::Span<const std::uint8_t> window, std::uint64_t offset,
    absl::Span<std::uint8_t> out, std::shared_ptr<ScratchPool> scratches) {
  FOREBAY_CHECK(offset >= point.offset);
  const bool is_raw = point.window_bytes > 0;
  auto state = std::make_unique<State>();
  const int bits = packing == Packing::kGzip ? kGzipBits : kZlibBits;
  if (inflateInit2(&state->stream, is_raw ? kRawBits : bits) != Z_OK)
    return NoMemory();
  if (is_raw && inflateSetDictionary(&state->stream, window.data(),
                                     static_cast<uInt>(window.size())) != Z_OK)
    return NoMemory();
  std::unique_ptr<InflateReader> reader(
      new InflateReader(packing, offset - point.offset, out,
                        std::move(scratches), std::move(state)));
  reader->is_raw_ = is_raw;
  reader->foreign_bits_ = is_raw ? static_cast<int>(point.bit % 8) : 0;
  return reader;
}

InflateReader::InflateReader(Packing packing, std::uint64_t skip,
                             absl::Span<std::uint8_t> out,
                             std::shared_ptr<ScratchPool> scratches,
                             std::unique_ptr<State> state)
    : packing_(packing),
      scratches_(std::move(scratches)),
      state_(std::move(state)),
      skip_(skip),
      out_(out) {}

InflateReader::~InflateReader() = default;

absl::StatusOr<std::uint64_t> InflateReader::Take(
    absl::Span<const std::uint8_t> packed) {
  const std::size_t given = packed.size();
  std::uint64_t left = kMostAtOnce;
  Scratch scratch(scratches_.get());
  if (foreign_bits_ > 0 && !packed.empty()) {
    inflatePrime(&state_->stream, 8 - foreign_bits_,
                 packed.front() >> foreign_bits_);
    packed.remove_prefix(1);
    foreign_bits_ = 0;
  }
  while (!done() && left > 0 && (!packed.empty() || is_pending_)) {
    if (place_ == Place::kInTrailer) {
      const std::uint64_t took =
          std::min<std::uint64_t>(trailer_, packed.size());
      packed.remove_prefix(took);
      trailer_ -= took;
      if (trailer_ == 0) place_ = Place::kBetweenMembers;
    } else if (place_ == Place::kBetweenMembers) {
      // The scan found that much in the members.
      if (packing_ == Packing::kZlib || packed.front() != 0x1f)
        return absl::DataLossError("its compressed data ends too early");
      if (inflateReset2(&state_->stream, kGzipBits) != Z_OK) return NoMemory();
      is_raw_ = false;
      place_ = Place::kInMember;
    } else {
      FOREBAY_ASSIGN_OR_RETURN(
          const std::uint64_t took,
          InflateSome(packed, absl::MakeSpan(scratch.bytes()), &left));
      packed.remove_prefix(took);
    }
  }
  return given - packed.size();
}

absl::StatusOr<std::uint64_t> InflateReader::InflateSome(
    absl::Span<const std::uint8_t> packed, absl::Span<std::uint8_t> scratch,
    std::uint64_t* left) {
  z_stream& stream = state_->stream;
  const absl::Span<std::uint8_t> room =
      skip_ > 0 ? scratch.first(
                      std::min<std::uint64_t>({skip_, scratch.size(), *left}))
                : out_.subspan(filled_, *left);
  const std::size_t given = std::min(packed.size(), kPiece);
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(given);
  stream.next_out = room.data();
  stream.avail_out = static_cast<uInt>(room.size());
  const int code = inflate(&stream, Z_NO_FLUSH);
  const std::size_t made = room.size() - stream.avail_out;
  *left -= made;
  if (skip_ > 0)
    skip_ -= made;
  else
    filled_ += made;
  is_pending_ = code == Z_OK && stream.avail_out == 0;
  if (code == Z_STREAM_END) {
    place_ = Place::kBetweenMembers;
    if (is_raw_) {
      place_ = Place::kInTrailer;
      trailer_ = packing_ == Packing::kGzip ? kGzipTrailer : kZlibTrailer;
    }
  } else if (code == Z_MEM_ERROR) {
    return NoMemory();
  } else if (code != Z_OK && (code != Z_BUF_ERROR || given > 0)) {
    return Damaged(stream.msg);
  }
  return given - stream.avail_in;
}

}  // namespace forebay::storage::inflated
