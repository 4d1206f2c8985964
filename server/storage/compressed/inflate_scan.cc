#include "server/storage/compressed/inflate_scan.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/compressed/access_point.h"

// How points are found: zlib stops at the end of each block (Z_BLOCK). A block
// that begins at least kMostApart / 2 after the last point is a candidate for
// the next point. A new candidate replaces the previous one. Once more than
// kMostApart bytes were decompressed after the last point, the candidate
// becomes a point. Two points therefore lie as far apart as whole blocks allow:
// at most kMostApart, unless one block is longer.
//
// A candidate keeps a copy of zlib's window, since the window has moved on by
// the time that the candidate becomes a point. The copy of 32 KiB for each
// candidate is the scan's only cost beyond decompression.

namespace forebay::storage::compressed {
namespace {

// The windowBits of zlib: a window of 32 KiB, with a gzip header or a zlib
// header.
constexpr int kGzipBits = MAX_WBITS + 16;
constexpr int kZlibBits = MAX_WBITS;

// The most bytes that zlib is given at once: it counts in 32 bits.
constexpr std::size_t kPiece = std::size_t{1} << 26;

// The parts of z_stream::data_type after a call with Z_BLOCK: the unused bits
// of the last byte (0 to 7), 64 in the last block, and 128 at the end of a
// block or header.
constexpr int kUnusedBits = 7;
constexpr int kInLastBlock = 64;
constexpr int kAtBlock = 128;
constexpr int kNotAtBlock = -1;

absl::Status Damaged(int code, const char* message) {
  if (code == Z_MEM_ERROR) {
    return absl::ResourceExhaustedError("there is no memory to inflate with");
  }
  std::string reason = "its compressed data is damaged";
  if (code == Z_NEED_DICT) {
    absl::StrAppend(&reason, " (it needs a dictionary)");
  } else if (message != nullptr) {
    absl::StrAppend(&reason, " (", message, ")");
  }
  return absl::DataLossError(reason);
}

absl::Status Garbage() {
  return absl::DataLossError(
      "something that is not compressed lies behind the compressed data");
}

}  // namespace

struct InflateScan::State {
  // A block or member that may become the next point. The fields are those of
  // AccessPoint.
  struct Candidate {
    std::uint64_t offset = 0;
    std::uint64_t bit = 0;
    uInt window_bytes = 0;
    std::array<std::uint8_t, kWindowBytes> window = {};
  };

  ~State() { inflateEnd(&stream); }

  z_stream stream = {};
  std::array<std::uint8_t, std::size_t{64} << 10> decompressed = {};
  bool has_candidate = false;
  Candidate candidate;
};

absl::StatusOr<std::unique_ptr<InflateScan>> InflateScan::Create(
    Compression compression, base::WorkingMemory* memory) {
  FOREBAY_RETURN_IF_ERROR(memory->Grow(kBytes));
  std::unique_ptr<InflateScan> scan(
      new InflateScan(compression, std::make_unique<State>(), memory));
  const int code =
      inflateInit2(&scan->state_->stream,
                   compression == Compression::kGzip ? kGzipBits : kZlibBits);
  if (code != Z_OK) return Damaged(code, nullptr);
  return scan;
}

InflateScan::InflateScan(Compression compression, std::unique_ptr<State> state,
                         base::WorkingMemory* memory)
    : compression_(compression), memory_(memory), state_(std::move(state)) {}

InflateScan::~InflateScan() { memory_->Shrink(kBytes); }

absl::Status InflateScan::Take(absl::Span<const std::uint8_t> compressed,
                               Out out, OnPoint on_point) {
  while (!compressed.empty() || is_pending_) {
    if (place_ == Place::kBetweenMembers) {
      FOREBAY_RETURN_IF_ERROR(BeginMember(compressed));
    } else if (place_ == Place::kBehindAll) {
      const bool zeros =
          std::all_of(compressed.begin(), compressed.end(),
                      [](std::uint8_t byte) { return byte == 0; });
      if (!zeros) return Garbage();
      in_ += compressed.size();
      return absl::OkStatus();
    } else {
      int unused_bits = kNotAtBlock;
      FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t took,
                               InflateSome(compressed, out, &unused_bits));
      compressed.remove_prefix(took);
      FOREBAY_RETURN_IF_ERROR(TellPoint(on_point));
      if (unused_bits != kNotAtBlock) NoteBlock(unused_bits);
    }
    FOREBAY_RETURN_IF_ERROR(TellPoint(on_point));
  }
  return absl::OkStatus();
}

absl::Status InflateScan::BeginMember(absl::Span<const std::uint8_t> rest) {
  // Zeros pad files on tapes and block devices. gzip ignores them, and so does
  // the scan.
  if (any_member_ && rest.front() == 0) {
    place_ = Place::kBehindAll;
    return absl::OkStatus();
  }
  if (any_member_ &&
      (compression_ == Compression::kZlib || rest.front() != 0x1f))
    return Garbage();
  if (!any_member_ || out_ - last_point_ >= kMostApart / 2) {
    state_->has_candidate = true;
    state_->candidate.offset = out_;
    state_->candidate.bit = in_ * 8;
    state_->candidate.window_bytes = 0;
  }
  const int code = inflateReset(&state_->stream);
  if (code != Z_OK) return Damaged(code, state_->stream.msg);
  place_ = Place::kInMember;
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> InflateScan::InflateSome(
    absl::Span<const std::uint8_t> rest, Out out, int* unused_bits) {
  z_stream& stream = state_->stream;
  const std::size_t given = std::min(rest.size(), kPiece);
  // zlib only reads these bytes; its interface is older than const.
  stream.next_in = const_cast<Bytef*>(rest.data());
  stream.avail_in = static_cast<uInt>(given);
  stream.next_out = state_->decompressed.data();
  stream.avail_out = static_cast<uInt>(state_->decompressed.size());
  const int code = inflate(&stream, Z_BLOCK);
  const std::size_t took = given - stream.avail_in;
  const std::size_t out_bytes = state_->decompressed.size() - stream.avail_out;
  in_ += took;
  out_ += out_bytes;
  is_pending_ = code == Z_OK && stream.avail_out == 0;
  if (out_bytes > 0)
    FOREBAY_RETURN_IF_ERROR(out({state_->decompressed.data(), out_bytes}));
  if (code == Z_STREAM_END) {
    any_member_ = true;
    place_ = Place::kBetweenMembers;
  } else if (code == Z_BUF_ERROR && given == 0) {
    return 0;  // nothing was pending after all
  } else if (code != Z_OK) {
    // A later member whose two first bytes are already wrong is not a member at
    // all.
    if (any_member_ && stream.total_out == 0 && stream.total_in <= 2)
      return Garbage();
    return Damaged(code, stream.msg);
  } else if ((stream.data_type & kAtBlock) != 0 &&
             (stream.data_type & kInLastBlock) == 0) {
    *unused_bits = stream.data_type & kUnusedBits;
  }
  return took;
}

void InflateScan::NoteBlock(int unused_bits) {
  if (out_ - last_point_ < kMostApart / 2) return;
  State::Candidate& candidate = state_->candidate;
  // A member's beginning needs no window, and is as good as its first block.
  if (state_->has_candidate && candidate.offset == out_) return;
  candidate.offset = out_;
  candidate.bit = in_ * 8 - static_cast<std::uint64_t>(unused_bits);
  inflateGetDictionary(&state_->stream, candidate.window.data(),
                       &candidate.window_bytes);
  state_->has_candidate = true;
}

absl::Status InflateScan::TellPoint(OnPoint on_point) {
  const bool first = out_ == 0 && last_point_ == 0 && !any_member_;
  if (!state_->has_candidate || (!first && out_ - last_point_ <= kMostApart)) {
    return absl::OkStatus();
  }
  const State::Candidate& candidate = state_->candidate;
  state_->has_candidate = false;
  last_point_ = candidate.offset;
  return on_point({candidate.offset,
                   candidate.bit,
                   {candidate.window.data(), candidate.window_bytes},
                   {}});
}

absl::Status InflateScan::Finish(OnPoint) {
  if (place_ == Place::kInMember)
    return absl::DataLossError("is truncated in its compressed data");
  if (!any_member_) return absl::DataLossError("is empty");
  return absl::OkStatus();
}

}  // namespace forebay::storage::compressed
