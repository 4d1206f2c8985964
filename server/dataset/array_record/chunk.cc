// A chunk is a header of 40 bytes and its data:
//
//   hash of the rest of the header, bytes of data, their hash    u64 each
//   type u8; number of records u56; bytes of all records         u64
//
// The data of a simple chunk (type 'r') is the codec, a byte; the bytes of the
// lengths, a varint; the lengths, a varint each record; and the records. If it
// is compressed, lengths and records are each a varint, the bytes that they
// have, and one compressed stream. All but varints is little-endian.
#include "server/dataset/array_record/chunk.h"

#include <highwayhash/c_bindings.h>

#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/array_record/blocks.h"
#include "server/dataset/array_record/codec.h"
#include "server/dataset/array_record/varint.h"

namespace forebay::dataset::array_record {
namespace {

static_assert(std::endian::native == std::endian::little);

using Bytes = absl::Span<const std::uint8_t>;
using Room = absl::Span<std::uint8_t>;

constexpr char kSimple = 'r';
constexpr char kTransposed = 't';
// No chunk has more bytes of records; sums of some such numbers do not
// overflow.
constexpr std::uint64_t kMostDecoded = std::uint64_t{1} << 60;

struct Header {
  std::uint64_t data_bytes = 0;
  std::uint64_t data_hash = 0;
  char type = 0;
  std::uint64_t records = 0;
  std::uint64_t decoded_bytes = 0;
};

std::uint64_t HashOf(Bytes bytes) {
  // "Riegeli/", "records\n", twice.
  alignas(32) constexpr HHKey kKey = {0x2f696c6567656952, 0x0a7364726f636572,
                                      0x2f696c6567656952, 0x0a7364726f636572};
  return HighwayHash64(kKey, reinterpret_cast<const char*>(bytes.data()),
                       bytes.size());
}

std::uint64_t NumberAt(const std::uint8_t* bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

absl::StatusOr<Header> ReadHeader(const Blocks& blocks) {
  if (blocks.size() < kChunkHeaderBytes) {
    return absl::DataLossError(
        absl::StrCat("is truncated: ", blocks.size(),
                     " bytes are left, which are no header of a chunk"));
  }
  std::array<std::uint8_t, kChunkHeaderBytes> bytes;
  blocks.Copy(0, absl::MakeSpan(bytes));
  if (HashOf(Bytes(bytes).subspan(8)) != NumberAt(bytes.data())) {
    return absl::DataLossError(
        "is no ArrayRecord file, or damaged: the hash of a chunk's header does "
        "not match");
  }
  return Header{.data_bytes = NumberAt(&bytes[8]),
                .data_hash = NumberAt(&bytes[16]),
                .type = static_cast<char>(bytes[24]),
                .records = NumberAt(&bytes[24]) >> 8,
                .decoded_bytes = NumberAt(&bytes[32])};
}

absl::Status CheckHeader(const Header& header, std::uint64_t file_bytes,
                         const Blocks& blocks, std::uint64_t most) {
  if (header.type == kTransposed) return IsTransposed();
  if (header.type != kSimple)
    return absl::DataLossError("has no chunk of records where one is expected");
  const std::uint64_t left = blocks.size() - kChunkHeaderBytes;
  if (header.data_bytes > left) {
    return absl::DataLossError(
        absl::StrCat("is truncated: a chunk has ", header.data_bytes,
                     " bytes, of which ", left, " are there"));
  }
  // Writers pad chunks of short records.
  if (header.data_bytes == 0 || header.records > file_bytes) {
    return absl::DataLossError(
        absl::StrCat("is damaged: a chunk of ", header.data_bytes,
                     " bytes cannot have ", header.records, " records"));
  }
  if (header.decoded_bytes > most || header.decoded_bytes > kMostDecoded) {
    return absl::DataLossError(
        absl::StrCat("has a chunk with ", header.decoded_bytes,
                     " bytes of records, but the file's list of chunks says ",
                     most, " at most"));
  }
  return absl::OkStatus();
}

absl::Status Malformed() {
  return absl::DataLossError(
      "is damaged: the lengths of a chunk's records are none, or do not fit "
      "together");
}

// Unpacks what a chunk has compressed, of at most out->size() bytes, to the
// front of `out`, which it takes.
absl::StatusOr<Bytes> Unpack(Codec codec, Bytes packed, Room* out) {
  if (codec == Codec::kNone) return packed;
  const auto length = TakeVarint(&packed);
  if (!length.has_value() || *length > out->size()) return Malformed();
  const Room room = out->first(*length);
  FOREBAY_RETURN_IF_ERROR(Decompress(codec, packed, room));
  out->remove_prefix(*length);
  return room;
}

}  // namespace

absl::StatusOr<Chunk> Chunk::Read(std::uint64_t offset, Bytes bytes,
                                  std::uint64_t most, UnpackRoom room) {
  const Blocks blocks(offset, bytes);
  FOREBAY_ASSIGN_OR_RETURN(const Header header, ReadHeader(blocks));
  FOREBAY_RETURN_IF_ERROR(CheckHeader(header, bytes.size(), blocks, most));
  std::uint8_t first = 0;
  blocks.Copy(kChunkHeaderBytes, {&first, 1});
  const bool is_packed = first != static_cast<std::uint8_t>(Codec::kNone);
  std::optional<Bytes> data =
      blocks.Piece(kChunkHeaderBytes, header.data_bytes);
  Room out;
  const std::uint64_t lengths =
      is_packed ? header.records * VarintBytes(header.decoded_bytes) : 0;
  const std::uint64_t wanted = (data.has_value() ? 0 : header.data_bytes) +
                               lengths + (is_packed ? header.decoded_bytes : 0);
  if (wanted > 0) {
    FOREBAY_ASSIGN_OR_RETURN(out, room(wanted));
  }
  if (!data.has_value()) {
    const Room joined = out.first(header.data_bytes);
    blocks.Copy(kChunkHeaderBytes, joined);
    out.remove_prefix(joined.size());
    data = joined;
  }
  if (HashOf(*data) != header.data_hash) {
    return absl::DataLossError(
        "is damaged: the hash of a chunk's data does not match");
  }
  FOREBAY_ASSIGN_OR_RETURN(const Codec codec, CodecOf(first));
  data->remove_prefix(1);
  const auto length_bytes = TakeVarint(&*data);
  if (!length_bytes.has_value() || *length_bytes > data->size())
    return Malformed();
  FOREBAY_ASSIGN_OR_RETURN(const Bytes length_list,
                           Unpack(codec, data->first(*length_bytes), &out));
  FOREBAY_ASSIGN_OR_RETURN(const Bytes records,
                           Unpack(codec, data->subspan(*length_bytes), &out));
  if (records.size() != header.decoded_bytes) return Malformed();
  Chunk chunk(header.records, length_list, records);
  FOREBAY_RETURN_IF_ERROR(chunk.Check());
  return chunk;
}

absl::Status Chunk::Check() const {
  Bytes lengths = lengths_;
  std::uint64_t unused = records_.size();
  for (std::uint64_t i = 0; i < left_; ++i) {
    const auto length = TakeVarint(&lengths);
    if (!length.has_value() || *length > unused) return Malformed();
    unused -= *length;
  }
  return lengths.empty() && unused == 0 ? absl::OkStatus() : Malformed();
}

Bytes Chunk::Next() {
  FOREBAY_CHECK(left_ > 0);
  const auto length = TakeVarint(&lengths_);
  FOREBAY_CHECK(length.has_value());
  const Bytes record = records_.first(*length);
  records_.remove_prefix(*length);
  --left_;
  return record;
}

void Chunk::Skip(std::uint64_t records) {
  for (; records > 0; --records) Next();
}

absl::Status IsTransposed() {
  return absl::UnimplementedError(
      "its records are transposed, and cannot be read: write the file without "
      "the option \"transpose\"");
}

}  // namespace forebay::dataset::array_record
