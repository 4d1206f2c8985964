// The footer and the postscript are Riegeli chunks, whose records are protocol
// buffers (cpp/layout.proto of ArrayRecord). The postscript is one
// RiegeliPostscript. The first record of the footer is a RiegeliFooterMetadata,
// which tells the numbers of chunks and of records. Each further record is an
// ArrayRecordFooter, the entry of a chunk: its offset, its number of records
// and their bytes.
//
// A chunk ends where the next chunk begins. So Next returns a chunk only after
// it has read the next entry. Entries must ascend, and all of them together
// must have exactly the number of records that the metadata tells.
#include "server/dataset/array_record/footer.h"

#include <algorithm>
#include <cstddef>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/array_record/blocks.h"

namespace forebay::dataset::array_record {
namespace {

using Bytes = absl::Span<const std::uint8_t>;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

// The numbers of the fields in layout.proto.
constexpr std::uint32_t kFooterOffset = 1;         // of RiegeliPostscript
constexpr std::uint32_t kMagic = 2;                // of RiegeliPostscript
constexpr std::uint32_t kArrayRecordMetadata = 1;  // of RiegeliFooterMetadata
constexpr std::uint32_t kVersion = 1;              // of ArrayRecordMetadata
constexpr std::uint32_t kChunks = 2;               // of ArrayRecordMetadata
constexpr std::uint32_t kRecords = 3;              // of ArrayRecordMetadata
constexpr std::uint32_t kWriterOptions = 4;        // of ArrayRecordMetadata
constexpr std::uint32_t kChunkOffset = 1;          // of ArrayRecordFooter
constexpr std::uint32_t kDecodedBytes = 2;         // of ArrayRecordFooter
constexpr std::uint32_t kChunkRecords = 3;         // of ArrayRecordFooter

// The magic number of a RiegeliPostscript, and the version of
// ArrayRecordMetadata that this reader knows.
constexpr std::uint64_t kMagicNumber = 0x71930e704fdae05e;
constexpr std::uint64_t kKnownVersion = 1;

pbf_reader ReaderOf(Bytes bytes) {
  return pbf_reader(protozero::data_view(
      reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("is damaged: its list of chunks ", std::string(what)));
}

// Parses a message. Calls `each(tag, number)` for each varint field and
// `text(tag, view)` for each field of bytes. Returns false if the message is
// malformed.
template <typename Number, typename Text>
bool ReadMessage(Bytes message, Number each, Text text) {
  try {
    pbf_reader reader = ReaderOf(message);
    while (reader.next()) {
      if (reader.wire_type() == pbf_wire_type::varint) {
        each(reader.tag(), reader.get_uint64());
      } else if (reader.wire_type() == pbf_wire_type::length_delimited) {
        text(reader.tag(), reader.get_view());
      } else {
        reader.skip();
      }
    }
    return true;
  } catch (const protozero::exception&) {
    return false;
  }
}

constexpr auto kNoText = [](std::uint32_t, const protozero::data_view&) {};

}  // namespace

absl::StatusOr<std::uint64_t> FooterOffset(std::uint64_t size, Bytes block) {
  FOREBAY_CHECK(size % kBlockBytes == 0 && size >= kBlockBytes &&
                block.size() == kBlockBytes);
  const auto no_room = [](std::uint64_t) { return Damaged("lies elsewhere"); };
  // The postscript lies within one block, and writers do not compress it.
  // Reading it therefore never asks for room.
  auto chunk = Chunk::Read(size - kBlockBytes, block, kBlockBytes, no_room);
  if (!chunk.ok()) {
    return base::Annotate(chunk.status(),
                          absl::StrCat("at byte ", size - kBlockBytes));
  }
  if (chunk->left() == 0) return Damaged("is nowhere");
  std::uint64_t magic = 0;
  std::optional<std::uint64_t> offset;
  const bool read = ReadMessage(
      chunk->Next(),
      [&](std::uint32_t tag, std::uint64_t number) {
        if (tag == kFooterOffset) offset = number;
        if (tag == kMagic) magic = number;
      },
      kNoText);
  if (!read || magic != kMagicNumber || !offset.has_value()) {
    return absl::DataLossError(
        "is not an ArrayRecord file: it ends in no list of chunks");
  }
  // The footer lies between the file's signature and the last block.
  if (*offset == 0 || *offset >= size - kBlockBytes || !CanBeginChunk(*offset))
    return Damaged(absl::StrCat("cannot lie at byte ", *offset));
  return *offset;
}

absl::StatusOr<Footer> Footer::Read(std::uint64_t offset, Bytes bytes,
                                    base::WorkingMemory* memory) {
  Footer footer(offset, memory);
  // The footer outlives `bytes`, but its chunk may point into the bytes from
  // which it was read. The footer therefore keeps a copy of `bytes`.
  FOREBAY_RETURN_IF_ERROR(memory->Grow(bytes.size()));
  footer.counted_ += bytes.size();
  footer.compressed_ =
      std::make_unique_for_overwrite<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), footer.compressed_.get());
  const auto room =
      [&](std::uint64_t length) -> absl::StatusOr<absl::Span<std::uint8_t>> {
    FOREBAY_RETURN_IF_ERROR(memory->Grow(length));
    footer.counted_ += length;
    footer.decompressed_ =
        std::make_unique_for_overwrite<std::uint8_t[]>(length);
    return absl::MakeSpan(footer.decompressed_.get(), length);
  };
  FOREBAY_ASSIGN_OR_RETURN(
      footer.list_,
      Chunk::Read(offset, {footer.compressed_.get(), bytes.size()}, UINT64_MAX,
                  room));
  if (footer.list_->left() == 0) return Damaged("has no beginning");
  FOREBAY_RETURN_IF_ERROR(footer.ReadMetadata(footer.list_->Next()));
  FOREBAY_ASSIGN_OR_RETURN(footer.next_, footer.NextBegin());
  return footer;
}

// The moved-from footer must not release the memory that it no longer owns.
Footer::Footer(Footer&& other) noexcept
    : offset_(other.offset_),
      memory_(other.memory_),
      counted_(std::exchange(other.counted_, 0)),
      compressed_(std::move(other.compressed_)),
      decompressed_(std::move(other.decompressed_)),
      list_(other.list_),
      records_left_(other.records_left_),
      last_begin_(other.last_begin_),
      next_(other.next_) {}

Footer::~Footer() {
  compressed_.reset();
  decompressed_.reset();
  memory_->Shrink(counted_);
}

absl::Status Footer::ReadMetadata(Bytes metadata) {
  std::optional<Bytes> inner;
  const auto find = [&](std::uint32_t tag, const protozero::data_view& view) {
    if (tag == kArrayRecordMetadata) {
      inner = Bytes(reinterpret_cast<const std::uint8_t*>(view.data()),
                    view.size());
    }
  };
  const auto none = [](std::uint32_t, std::uint64_t) {};
  if (!ReadMessage(metadata, none, find) || !inner.has_value())
    return Damaged("is none of an ArrayRecord file");
  std::uint64_t version = 0;
  std::uint64_t chunks = 0;
  bool is_transposed = false;
  const bool read = ReadMessage(
      *inner,
      [&](std::uint32_t tag, std::uint64_t number) {
        if (tag == kVersion) version = number;
        if (tag == kChunks) chunks = number;
        if (tag == kRecords) records_left_ = number;
      },
      [&](std::uint32_t tag, const protozero::data_view& view) {
        if (tag != kWriterOptions) return;
        is_transposed = absl::StrContains(
            absl::string_view(view.data(), view.size()), "transpose:true");
      });
  if (!read) return Damaged("is malformed");
  if (version != kKnownVersion) {
    return absl::UnimplementedError(absl::StrCat(
        "is an ArrayRecord file of version ", version, ", which is not known"));
  }
  if (is_transposed) return IsTransposed();
  if (chunks != list_->left()) {
    return Damaged(
        absl::StrCat("has ", list_->left(), " of ", chunks, " chunks"));
  }
  return absl::OkStatus();
}

// Takes the next entry of the list. The end of its chunk is not known yet.
absl::StatusOr<std::optional<ListedChunk>> Footer::NextBegin() {
  if (list_->left() == 0) {
    if (records_left_ == 0) return std::nullopt;
    return Damaged(absl::StrCat("lacks ", records_left_, " records"));
  }
  ListedChunk chunk;
  const bool read = ReadMessage(
      list_->Next(),
      [&](std::uint32_t tag, std::uint64_t number) {
        if (tag == kChunkOffset) chunk.begin = number;
        if (tag == kDecodedBytes) chunk.decoded_bytes = number;
        if (tag == kChunkRecords) chunk.records = number;
      },
      kNoText);
  // The file's signature, a chunk without records, lies at byte 0. So the first
  // chunk of records begins after byte 0.
  if (!read || chunk.begin <= last_begin_ || chunk.begin >= offset_ ||
      !CanBeginChunk(chunk.begin)) {
    return Damaged(
        absl::StrCat("has one at byte ", chunk.begin, ", where none can be"));
  }
  if (chunk.records == 0 || chunk.records > records_left_) {
    return Damaged(absl::StrCat("has one of ", chunk.records, " records, of ",
                                records_left_, " that are left"));
  }
  last_begin_ = chunk.begin;
  records_left_ -= chunk.records;
  return chunk;
}

// Reads one entry ahead, because the returned chunk ends where the next one
// begins.
absl::StatusOr<std::optional<ListedChunk>> Footer::Next() {
  if (!next_.has_value()) return std::nullopt;
  ListedChunk chunk = *next_;
  FOREBAY_ASSIGN_OR_RETURN(next_, NextBegin());
  chunk.end = next_.has_value() ? next_->begin : offset_;
  // A chunk is padded until it has at least a byte for each record.
  if (chunk.records > chunk.end - chunk.begin) {
    return Damaged(absl::StrCat("has one of ", chunk.records, " records in ",
                                chunk.end - chunk.begin, " bytes"));
  }
  return chunk;
}

}  // namespace forebay::dataset::array_record
