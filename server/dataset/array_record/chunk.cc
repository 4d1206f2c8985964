// A chunk of a Riegeli file is a header of 40 bytes and data
// (doc/riegeli_records_file_format.md, "Chunk"):
//
// header_hash u64         hash of the rest of the header
// data_size u64           bytes of data
// data_hash u64           hash of the data
// chunk_type u8           'r' for simple chunks, 't' for transposed ones
// num_records u56
// decoded_data_size u64   bytes of all records, decompressed
//
// The data of a simple chunk is:
//
// compression_type u8     the codec
// varint                  bytes of the sizes that follow, as stored
// sizes                   a varint for each record: its length in bytes
// values                  the records
//
// If the codec is not 0, the sizes and the values are one compressed stream
// each. A varint before each stream tells how many bytes it decompresses to.
// Numbers that are not varints are little-endian.
//
// Read asks for one room (a buffer) and fills it from the front: the data, if a
// block header interrupts it; the decompressed sizes; the decompressed values.
// The size of each record takes at most as many bytes as a varint of
// decoded_data_size. The room's size follows from the header's numbers.
// header_hash and `most` keep a damaged header from asking for a room that is
// too large.
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

// The types of chunks that hold records (chunk_type).
constexpr char kSimple = 'r';
constexpr char kTransposed = 't';
// The most bytes that a chunk's records may have. Sums of a few numbers below
// this limit do not overflow 64 bits.
constexpr std::uint64_t kMostDecoded = std::uint64_t{1} << 60;

// A chunk's header, without header_hash.
struct Header {
  std::uint64_t data_bytes = 0;  // data_size
  std::uint64_t data_hash = 0;
  char type = 0;                    // chunk_type
  std::uint64_t records = 0;        // num_records
  std::uint64_t decoded_bytes = 0;  // decoded_data_size
};

std::uint64_t HashOf(Bytes bytes) {
  // Riegeli hashes with HighwayHash. Its key is the text "Riegeli/records\n"
  // twice, as little-endian numbers.
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

// Reads a header and checks its hash. A block header may interrupt it, so it is
// copied.
absl::StatusOr<Header> ReadHeader(const Blocks& blocks) {
  if (blocks.size() < kChunkHeaderBytes) {
    return absl::DataLossError(
        absl::StrCat("is truncated: ", blocks.size(),
                     " bytes are left, which are not a header of a chunk"));
  }
  std::array<std::uint8_t, kChunkHeaderBytes> bytes;
  blocks.Copy(0, absl::MakeSpan(bytes));
  if (HashOf(Bytes(bytes).subspan(8)) != NumberAt(bytes.data())) {
    return absl::DataLossError(
        "is not an ArrayRecord file, or damaged: the hash of a chunk's header "
        "does "
        "not match");
  }
  return Header{.data_bytes = NumberAt(&bytes[8]),
                .data_hash = NumberAt(&bytes[16]),
                .type = static_cast<char>(bytes[24]),
                .records = NumberAt(&bytes[24]) >> 8,
                .decoded_bytes = NumberAt(&bytes[32])};
}

// Checks the header of a chunk. `blocks` presents the part of the file that
// begins with the chunk. This part has `file_bytes` bytes, block headers
// included.
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
  // Writers pad a chunk until it has at least a byte for each record. So a
  // damaged header cannot claim more records than the file has bytes.
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

// Returns the error of data that passed its hash and still contradicts itself.
absl::Status Malformed() {
  return absl::DataLossError(
      "is damaged: the lengths of a chunk's records are none, or do not fit "
      "together");
}

// Decompresses a compressed part of a chunk to the front of `out`, and removes
// the filled bytes from `out`. Returns `compressed` itself if there is no
// codec.
absl::StatusOr<Bytes> Decompress(Codec codec, Bytes compressed, Room* out) {
  if (codec == Codec::kNone) return compressed;
  const auto length = TakeVarint(&compressed);
  if (!length.has_value() || *length > out->size()) return Malformed();
  const Room room = out->first(*length);
  FOREBAY_RETURN_IF_ERROR(Decompress(codec, compressed, room));
  out->remove_prefix(*length);
  return room;
}

}  // namespace

absl::StatusOr<Chunk> Chunk::Read(std::uint64_t offset, Bytes bytes,
                                  std::uint64_t most, DecompressionRoom room) {
  const Blocks blocks(offset, bytes);
  FOREBAY_ASSIGN_OR_RETURN(const Header header, ReadHeader(blocks));
  FOREBAY_RETURN_IF_ERROR(CheckHeader(header, bytes.size(), blocks, most));
  // The codec decides how much room is needed, so it is read before the data is
  // joined or checked.
  std::uint8_t first = 0;
  blocks.Copy(kChunkHeaderBytes, {&first, 1});
  const bool is_compressed = first != static_cast<std::uint8_t>(Codec::kNone);
  std::optional<Bytes> data =
      blocks.Piece(kChunkHeaderBytes, header.data_bytes);
  Room out;
  const std::uint64_t lengths =
      is_compressed ? header.records * VarintBytes(header.decoded_bytes) : 0;
  const std::uint64_t wanted = (data.has_value() ? 0 : header.data_bytes) +
                               lengths +
                               (is_compressed ? header.decoded_bytes : 0);
  if (wanted > 0) {
    FOREBAY_ASSIGN_OR_RETURN(out, room(wanted));
  }
  if (!data.has_value()) {
    const Room joined = out.first(header.data_bytes);
    blocks.Copy(kChunkHeaderBytes, joined);
    out.remove_prefix(joined.size());
    data = joined;
  }
  // The hash is checked before any of the data is parsed or decompressed.
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
                           Decompress(codec, data->first(*length_bytes), &out));
  FOREBAY_ASSIGN_OR_RETURN(
      const Bytes records,
      Decompress(codec, data->subspan(*length_bytes), &out));
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
