#include "server/dataset/records/record_index.h"

#include <algorithm>
#include <utility>

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/index_file.h"
#include "server/dataset/version_digest.h"

namespace forebay::dataset::records {

void LengthBounds::Add(const LengthBounds& other) {
  shortest = std::min(shortest, other.shortest);
  longest = std::max(longest, other.longest);
}

RecordIndex::RecordIndex(RecordIndexParts parts)
    : parts_(std::move(parts)), ctimes_(parts_.files.size()) {
  for (std::size_t file = 0; file < ctimes_.size(); ++file)
    ctimes_[file] = parts_.files[file].ctime_nanos;
}

absl::StatusOr<std::shared_ptr<const RecordIndex>> RecordIndex::Create(
    RecordIndexParts parts) {
  std::shared_ptr<RecordIndex> index(new RecordIndex(std::move(parts)));
  FOREBAY_RETURN_IF_ERROR(index->Check());
  index->Summarize();
  base::MemoryReservation& held = index->parts_.reservation;
  held.ShrinkTo(std::min(held.bytes(), index->memory()));
  return index;
}

absl::Status RecordIndex::Check() const {
  const auto& files = parts_.files;
  const std::uint64_t names = parts_.names.size();
  if (files.empty() ? size() > 0 : files.front().first_record != 0)
    return DamagedIndex("first record of file", 0);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FileRecord& file = files[i];
    if (file.path_offset > names ||
        file.path_length > names - file.path_offset || file.path_length == 0 ||
        PathOf(file).find('\0') != std::string::npos) {
      return DamagedIndex("path of file", i);
    }
    if (file.first_record > EndOf(i) || EndOf(i) > size())
      return DamagedIndex("first record of file", i);
    std::uint64_t end = file.begin;
    for (std::uint64_t record = file.first_record; record < EndOf(i);
         ++record) {
      // A record takes a byte at least: there are no more than bytes.
      if (parts_.ends[record] <= end) return DamagedIndex("record", record);
      end = parts_.ends[record];
    }
    if (end > file.size) return DamagedIndex("end of file", i);
  }
  return absl::OkStatus();
}

void RecordIndex::Summarize() {
  VersionDigest digest("records");
  digest.Add(std::string_view(parts_.format));
  for (std::size_t i = 0; i < parts_.files.size(); ++i) {
    const FileRecord& file = parts_.files[i];
    digest.Add(PathOf(file));
    digest.Add(EndOf(i) - file.first_record).Add(file.begin);
    digest.Add(file.size).Add(file.stamp);
    std::uint64_t end = file.begin;
    for (std::uint64_t record = file.first_record; record < EndOf(i);
         ++record) {
      longest_ = std::max(longest_, parts_.ends[record] - end);
      end = parts_.ends[record];
    }
  }
  digest.AddItems(parts_.ends.data(), parts_.ends.size());
  version_ = digest.Get();
}

std::uint64_t RecordIndex::EndOf(std::size_t file) const {
  return file + 1 < parts_.files.size() ? parts_.files[file + 1].first_record
                                        : size();
}

std::string_view RecordIndex::PathOf(const FileRecord& file) const {
  return std::string_view(parts_.names)
      .substr(file.path_offset, file.path_length);
}

RecordIndex::Extent RecordIndex::ExtentOf(std::uint64_t record) const {
  FOREBAY_CHECK(record < size());
  // Files without records begin where the next one does: the last one has it.
  const auto after =
      std::upper_bound(parts_.files.begin(), parts_.files.end(), record,
                       [](std::uint64_t wanted, const FileRecord& file) {
                         return wanted < file.first_record;
                       });
  const auto number =
      static_cast<std::size_t>(after - parts_.files.begin()) - 1;
  const FileRecord& file = parts_.files[number];
  const std::uint64_t begin =
      record == file.first_record ? file.begin : parts_.ends[record - 1];
  return {.file = number,
          .record = record - file.first_record,
          .offset = begin,
          .length = parts_.ends[record] - begin};
}

storage::ListedObject RecordIndex::FileAt(std::size_t file) const {
  FOREBAY_CHECK(file < parts_.files.size());
  const FileRecord& record = parts_.files[file];
  return {std::string(PathOf(record)),
          {record.size, record.stamp, {record.inode, ctimes_[file]}}};
}

bool RecordIndex::IsOf(absl::Span<const storage::ListedObject> files) const {
  if (files.size() != parts_.files.size()) return false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FileRecord& known = parts_.files[i];
    const storage::ObjectVersion version = {
        known.size, known.stamp, {known.inode, ctimes_[i]}};
    if (files[i].version != version || files[i].name != PathOf(known))
      return false;
  }
  return true;
}

storage::Revision RecordIndex::RevisionOf(std::string_view path) const {
  for (std::size_t i = 0; i < parts_.files.size(); ++i) {
    if (PathOf(parts_.files[i]) == path)
      return {parts_.files[i].inode, ctimes_[i]};
  }
  return {};
}

bool RecordIndex::Accept(std::string_view path,
                         const storage::Revision& revision,
                         const FileRecords& records) const {
  for (std::size_t i = 0; i < parts_.files.size(); ++i) {
    if (PathOf(parts_.files[i]) != path) continue;
    if (revision.inode != parts_.files[i].inode || !HasRecords(i, records))
      return false;
    ctimes_[i] = revision.ctime_nanos;
  }
  return true;
}

// Bounds that are other ones only show in values that do not fit.
bool RecordIndex::HasRecords(std::size_t file,
                             const FileRecords& records) const {
  const FileRecord& known = parts_.files[file];
  const std::uint64_t count = EndOf(file) - known.first_record;
  return records.begin == known.begin && records.ends.size() == count &&
         std::equal(records.ends.begin(), records.ends.end(),
                    parts_.ends.begin() +
                        static_cast<std::ptrdiff_t>(known.first_record));
}

std::uint64_t RecordIndex::memory() const {
  return sizeof(RecordIndex) + parts_.names.capacity() +
         parts_.format.capacity() +
         parts_.files.capacity() *
             (sizeof(FileRecord) + sizeof(ctimes_.front())) +
         parts_.ends.capacity() * sizeof(parts_.ends[0]) +
         parts_.bounds.capacity() * sizeof(LengthBounds);
}

std::uint64_t RecordIndex::Bytes(std::uint64_t files, std::uint64_t records,
                                 std::uint64_t bounds, std::uint64_t text) {
  return sizeof(RecordIndex) +
         files * (sizeof(FileRecord) + sizeof(std::atomic<std::int64_t>)) +
         records * sizeof(std::uint64_t) + bounds * sizeof(LengthBounds) + text;
}

absl::StatusOr<std::shared_ptr<const RecordIndex>> BuildRecordIndex(
    std::string format, absl::Span<const storage::ListedObject> files,
    std::vector<FileRecords> records, base::WorkingMemory& memory) {
  FOREBAY_CHECK(records.size() == files.size());
  std::size_t count = 0;
  std::size_t names = 0;
  std::size_t fields = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    count += records[i].ends.size();
    names += files[i].name.size();
    fields = std::max(fields, records[i].bounds.size());
  }
  RecordIndexParts parts;
  FOREBAY_ASSIGN_OR_RETURN(parts.reservation, memory.Keep(RecordIndex::Bytes(
                                                  files.size(), count, fields,
                                                  names + format.size())));
  parts.format = std::move(format);
  parts.files.reserve(files.size());
  parts.ends.reserve(count);
  parts.names.reserve(names);
  parts.bounds.resize(fields);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const storage::ObjectVersion& version = files[i].version;
    FileRecords& some = records[i];
    parts.files.push_back({.path_offset = parts.names.size(),
                           .path_length = files[i].name.size(),
                           .first_record = parts.ends.size(),
                           .begin = some.begin,
                           .size = version.size,
                           .stamp = version.stamp,
                           .inode = version.revision.inode,
                           .ctime_nanos = version.revision.ctime_nanos});
    parts.names += files[i].name;
    parts.ends.insert(parts.ends.end(), some.ends.begin(), some.ends.end());
    for (std::size_t field = 0; field < some.bounds.size(); ++field)
      parts.bounds[field].Add(some.bounds[field]);
    some = {};
  }
  return RecordIndex::Create(std::move(parts));
}

}  // namespace forebay::dataset::records
