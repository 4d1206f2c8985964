#include "server/dataset/tokens/megatron_index.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::tokens {
namespace {

using proto::DType;

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic("MMIDIDX\0\0", 9);
// The bytes of a length, and the bytes of a pointer or a document index.
constexpr std::uint64_t kLengthBytes = sizeof(std::int32_t);
constexpr std::uint64_t kPointerBytes = sizeof(std::int64_t);

// Returns the number at `offset`. The caller has checked that the number lies
// within `bytes`.
template <typename Number>
Number NumberAt(absl::Span<const std::uint8_t> bytes, std::uint64_t offset) {
  FOREBAY_CHECK(offset <= bytes.size() &&
                sizeof(Number) <= bytes.size() - offset);
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof(number));
  return number;
}

// Returns the type with the code `code` in Megatron-LM's enum DType. Codes 6
// and 7 are float64 and float32.
absl::StatusOr<DType> TypeOf(std::uint8_t code) {
  switch (code) {
    case 1:
      return DType::kUint8;
    case 2:
      return DType::kInt8;
    case 3:
      return DType::kInt16;
    case 4:
      return DType::kInt32;
    case 5:
      return DType::kInt64;
    case 8:
      return DType::kUint16;
    default:
      return absl::UnimplementedError(
          absl::StrCat("is of tokens with the type code ", code,
                       ", which is not an integer's"));
  }
}

// Checks that the sequences lie back to back, from the first to the last token.
absl::Status CheckSequences(const MegatronHeader& header,
                            absl::Span<const std::uint8_t> lengths,
                            absl::Span<const std::uint8_t> pointers,
                            std::uint64_t tokens) {
  const std::uint64_t token_bytes = proto::SizeOf(header.dtype);
  std::uint64_t end = 0;  // tokens
  for (std::uint64_t i = 0; i < header.sequences; ++i) {
    const auto length = NumberAt<std::int32_t>(lengths, i * kLengthBytes);
    const auto pointer = NumberAt<std::int64_t>(pointers, i * kPointerBytes);
    if (length < 0 || static_cast<std::uint64_t>(length) > tokens - end) {
      return absl::DataLossError(absl::StrCat("sequence ", i, " has ", length,
                                              " tokens, but there are ",
                                              tokens - end, " left"));
    }
    if (static_cast<std::uint64_t>(pointer) != end * token_bytes) {
      return absl::UnimplementedError(absl::StrCat(
          "sequence ", i, " begins at byte ", pointer, " instead of ",
          end * token_bytes, ": sequences must follow one another"));
    }
    end += static_cast<std::uint64_t>(length);
  }
  if (end == tokens) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("is of ", end, " tokens, but there are ", tokens));
}

}  // namespace

absl::StatusOr<MegatronHeader> ParseMegatronHeader(
    absl::Span<const std::uint8_t> start, std::uint64_t file_bytes) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()),
                              start.size());
  if (!text.starts_with(kMagic))
    return absl::DataLossError("is not an index of Megatron-LM's");
  if (start.size() < kMegatronHeaderBytes || file_bytes < start.size())
    return absl::DataLossError("is truncated");
  // Bytes 0 to 8 are the magic, and the numbers after it are unaligned.
  const auto version = NumberAt<std::uint64_t>(start, 9);
  if (version != 1) {
    return absl::UnimplementedError(absl::StrCat(
        "is of version ", version, ", of which only 1 can be read"));
  }
  MegatronHeader header;
  FOREBAY_ASSIGN_OR_RETURN(header.dtype, TypeOf(start[17]));
  header.sequences = NumberAt<std::uint64_t>(start, 18);
  header.documents = NumberAt<std::uint64_t>(start, 26);
  // The counts are untrusted. The division ensures that the products below do
  // not overflow.
  const std::uint64_t items = file_bytes - kMegatronHeaderBytes;
  if (header.sequences <= items / (kLengthBytes + kPointerBytes)) {
    const std::uint64_t left =
        items - header.sequences * (kLengthBytes + kPointerBytes);
    if (header.documents >= 1 && header.documents <= left / kPointerBytes) {
      const std::uint64_t modes = left - header.documents * kPointerBytes;
      if (modes == 0 || modes == header.sequences) return header;
    }
  }
  return absl::DataLossError(
      absl::StrCat("is truncated or damaged: it has ", file_bytes,
                   " bytes for ", header.sequences, " sequences and ",
                   header.documents, " document indices"));
}

absl::Status ReadMegatronDocuments(const MegatronHeader& header,
                                   absl::Span<const std::uint8_t> index,
                                   std::uint64_t tokens,
                                   std::vector<std::uint64_t>* ends,
                                   base::WorkingMemory& memory) {
  // ParseMegatronHeader has checked that these arrays lie within the file.
  const auto lengths =
      index.subspan(kMegatronHeaderBytes, header.sequences * kLengthBytes);
  const auto pointers = index.subspan(kMegatronHeaderBytes + lengths.size(),
                                      header.sequences * kPointerBytes);
  const auto documents =
      index.subspan(kMegatronHeaderBytes + lengths.size() + pointers.size(),
                    header.documents * kPointerBytes);
  FOREBAY_RETURN_IF_ERROR(CheckSequences(header, lengths, pointers, tokens));
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(*ends, header.documents - 1));
  std::uint64_t before = 0;  // sequences
  for (std::uint64_t i = 0; i < header.documents; ++i) {
    const auto first = static_cast<std::uint64_t>(
        NumberAt<std::int64_t>(documents, i * kPointerBytes));
    const bool is_last = i + 1 == header.documents;
    if (first < before || first > header.sequences || (i == 0 && first != 0) ||
        (is_last && first != header.sequences)) {
      return absl::DataLossError(absl::StrCat(
          "is damaged: document ", i, " begins with sequence ",
          static_cast<std::int64_t>(first), " of ", header.sequences));
    }
    before = first;
    if (i == 0) continue;
    // A document ends where the first sequence of the next document begins.
    ends->push_back(
        first == header.sequences
            ? tokens
            : NumberAt<std::uint64_t>(pointers, first * kPointerBytes) /
                  proto::SizeOf(header.dtype));
  }
  return absl::OkStatus();
}

}  // namespace forebay::dataset::tokens
