#include "server/dataset/records/build_record_index.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::records {
namespace {

// Makes the parts of an index, with vectors of the capacity that `records`
// need. Vectors that grow would take up to twice as much memory.
absl::StatusOr<RecordIndexParts> Reserve(
    std::string format, absl::Span<const storage::ListedObject> files,
    absl::Span<const FileRecords> records, base::WorkingMemory& memory) {
  std::size_t count = 0;
  std::size_t begins = 0;
  std::size_t decompressed = 0;
  std::size_t blocks = 0;
  std::size_t keys = 0;
  std::size_t names = 0;
  std::size_t fields = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    count += records[i].ends.size();
    begins += records[i].begins.size();
    decompressed += records[i].decompressed.size();
    blocks += records[i].keys.blocks.size();
    keys += records[i].keys.bytes.size();
    names += files[i].name.size();
    fields = std::max(fields, records[i].bounds.size());
  }
  // A format gives these numbers for all records, or for no record.
  FOREBAY_CHECK(begins == 0 || begins == count);
  FOREBAY_CHECK(decompressed == 0 || decompressed == count);
  RecordIndexParts parts;
  FOREBAY_ASSIGN_OR_RETURN(
      parts.reservation,
      memory.Keep(RecordIndex::Bytes(files.size(),
                                     count + begins + decompressed + blocks,
                                     fields, names + keys + format.size())));
  parts.format = std::move(format);
  parts.files.reserve(files.size());
  parts.ends.reserve(count);
  parts.begins.reserve(begins);
  parts.decompressed.reserve(decompressed);
  parts.keys.blocks.reserve(blocks);
  parts.keys.bytes.reserve(keys);
  parts.names.reserve(names);
  parts.bounds.resize(fields);
  return parts;
}

// Appends the records of a file to the parts, and frees `some`.
void Append(FileRecords& some, RecordIndexParts* parts) {
  parts->ends.insert(parts->ends.end(), some.ends.begin(), some.ends.end());
  parts->begins.insert(parts->begins.end(), some.begins.begin(),
                       some.begins.end());
  parts->decompressed.insert(parts->decompressed.end(),
                             some.decompressed.begin(),
                             some.decompressed.end());
  for (const std::uint64_t block : some.keys.blocks)
    parts->keys.blocks.push_back(parts->keys.bytes.size() + block);
  parts->keys.bytes += some.keys.bytes;
  for (std::size_t field = 0; field < some.bounds.size(); ++field)
    parts->bounds[field].Add(some.bounds[field]);
  some = {};
}

}  // namespace

absl::StatusOr<std::shared_ptr<const RecordIndex>> BuildRecordIndex(
    std::string format, absl::Span<const storage::ListedObject> files,
    std::vector<FileRecords> records, base::WorkingMemory& memory,
    std::shared_ptr<const storage::compressed::FilePoints> points) {
  FOREBAY_CHECK(records.size() == files.size());
  FOREBAY_ASSIGN_OR_RETURN(RecordIndexParts parts,
                           Reserve(std::move(format), files, records, memory));
  for (std::size_t i = 0; i < files.size(); ++i) {
    const storage::ObjectVersion& version = files[i].version;
    const auto* const compressed =
        points == nullptr ? nullptr : points->Find(files[i].name);
    parts.files.push_back(
        {.path_offset = parts.names.size(),
         .path_length = files[i].name.size(),
         .first_record = parts.ends.size(),
         .begin = records[i].begin,
         .size = compressed != nullptr ? compressed->size : version.size,
         .stamp = version.stamp,
         .inode = version.revision.inode,
         .ctime_nanos = version.revision.ctime_nanos,
         .transaction_id = records[i].transaction_id});
    parts.names += files[i].name;
    Append(records[i], &parts);
  }
  parts.points = std::move(points);
  return RecordIndex::Create(std::move(parts));
}

}  // namespace forebay::dataset::records
