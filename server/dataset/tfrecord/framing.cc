#include "server/dataset/tfrecord/framing.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/crc32c.h"
#include "server/base/status.h"

namespace forebay::dataset::tfrecord {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename Number>
Number Load(const std::uint8_t* bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

// Whether `stored` holds the masked CRC of `bytes`.
bool Matches(absl::Span<const std::uint8_t> bytes, const std::uint8_t* stored) {
  constexpr std::uint32_t kDelta = 0xa282ead8;
  const std::uint32_t masked = std::rotr(base::Crc32c(bytes), 15) + kDelta;
  return masked == Load<std::uint32_t>(stored);
}

}  // namespace

absl::StatusOr<std::uint64_t> LengthOf(absl::Span<const std::uint8_t> header) {
  FOREBAY_CHECK(header.size() >= kHeaderBytes);
  constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
  if (!Matches(header.first(kLengthBytes), header.data() + kLengthBytes)) {
    return absl::DataLossError(
        "is not a TFRecord file, or damaged: the checksum of a record's length "
        "does not match");
  }
  return Load<std::uint64_t>(header.data());
}

absl::StatusOr<absl::Span<const std::uint8_t>> PayloadOf(
    absl::Span<const std::uint8_t> frame) {
  FOREBAY_CHECK(frame.size() >= kFrameBytes);
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t length, LengthOf(frame));
  if (length != frame.size() - kFrameBytes) {
    return absl::DataLossError(absl::StrCat(
        "has ", length, " bytes instead of ", frame.size() - kFrameBytes));
  }
  const auto payload = frame.subspan(kHeaderBytes, length);
  if (!Matches(payload, payload.data() + length)) {
    return absl::DataLossError(
        "is damaged: the checksum of the record does not match");
  }
  return payload;
}

std::optional<storage::compressed::Compression> CompressionOf(
    absl::Span<const std::uint8_t> start) {
  // A record's length may look like the magic number of a compressed file. The
  // CRC of the length is stronger evidence.
  if (start.size() >= kHeaderBytes && LengthOf(start).ok()) return std::nullopt;
  return storage::compressed::CompressionOf(start);
}

}  // namespace forebay::dataset::tfrecord
