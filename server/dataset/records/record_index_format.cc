#include "server/dataset/records/record_index_format.h"

#include <utility>

#include "server/base/status.h"
#include "server/dataset/index_file.h"

namespace forebay::dataset::records {
namespace {

constexpr IndexFileType kType = {
    {'F', 'B', 'Y', 'R', 'E', 'C', 'R', 'D'}, 3, 0};

// The header of the file, as record_index_format.h describes it.
struct Header {
  IndexFileType type;
  std::uint64_t files;
  std::uint64_t records;
  std::uint64_t bounds;
  std::uint64_t names_bytes;
  std::uint64_t format_bytes;
  std::uint64_t begins;
  std::uint64_t key_blocks;
  std::uint64_t keys_bytes;
  std::uint64_t decompressed;
};
static_assert(sizeof(Header) == 88);

}  // namespace

std::string EncodeRecordIndex(const RecordIndex& index) {
  const RecordIndexParts& parts = index.parts();
  Header header = {};
  header.type = kType;
  header.files = parts.files.size();
  header.records = parts.ends.size();
  header.bounds = parts.bounds.size();
  header.names_bytes = parts.names.size();
  header.format_bytes = parts.format.size();
  header.begins = parts.begins.size();
  header.key_blocks = parts.keys.blocks.size();
  header.keys_bytes = parts.keys.bytes.size();
  header.decompressed = parts.decompressed.size();
  std::string bytes;
  bytes.reserve(sizeof(header) + header.files * sizeof(FileRecord) +
                (header.records + header.begins + header.key_blocks +
                 header.decompressed) *
                    sizeof(std::uint64_t) +
                header.bounds * sizeof(LengthBounds) + header.names_bytes +
                header.format_bytes + header.keys_bytes +
                kIndexFileChecksumBytes);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendItems(bytes, parts.files);
  AppendItems(bytes, parts.ends);
  AppendItems(bytes, parts.bounds);
  bytes += parts.names;
  bytes += parts.format;
  AppendItems(bytes, parts.begins);
  AppendItems(bytes, parts.keys.blocks);
  bytes += parts.keys.bytes;
  AppendItems(bytes, parts.decompressed);
  compressed::AppendPoints(bytes, parts.points);
  SealIndexFile(bytes);
  return bytes;
}

absl::StatusOr<std::shared_ptr<const RecordIndex>> DecodeRecordIndex(
    IndexFileReader& file, base::WorkingMemory& memory,
    const compressed::FindPoints& find_points) {
  FOREBAY_ASSIGN_OR_RETURN(const Header header, file.TakeHeader<Header>(kType));
  RecordIndexParts parts;
  // The parts take as many bytes in memory as in the file, except for `files`,
  // which take more.
  FOREBAY_ASSIGN_OR_RETURN(
      parts.reservation,
      memory.Keep(RecordIndex::Bytes(file.left() / sizeof(FileRecord), 0, 0,
                                     file.left())));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.files, &parts.files));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.records, &parts.ends));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.bounds, &parts.bounds));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.names_bytes, &parts.names));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.format_bytes, &parts.format));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.begins, &parts.begins));
  FOREBAY_RETURN_IF_ERROR(
      file.TakeItems(header.key_blocks, &parts.keys.blocks));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.keys_bytes, &parts.keys.bytes));
  FOREBAY_RETURN_IF_ERROR(
      file.TakeItems(header.decompressed, &parts.decompressed));
  FOREBAY_ASSIGN_OR_RETURN(parts.points,
                           compressed::TakePoints(file, find_points));
  FOREBAY_RETURN_IF_ERROR(file.Finish());
  return RecordIndex::Create(std::move(parts));
}

}  // namespace forebay::dataset::records
