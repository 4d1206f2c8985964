#include "server/dataset/records/record_index.h"

#include <algorithm>
#include <utility>

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/index_file.h"
#include "server/dataset/version_digest.h"

// Records are rows of flat arrays of 64-bit numbers, in the order of files:
// `ends` and, for formats that need them, `begins`, `decompressed` and blocks
// of keys. A record's file is found by binary search over the files' first
// records. A record's key is decoded from the start of the key's block, past
// fewer than kKeysTogether other keys.
//
// Create checks all numbers once, in time linear in the records. Later calls
// rely on these checks. So a damaged index file cannot make them read out of
// bounds.

namespace forebay::dataset::records {
namespace {

// Two numbers of a file are stored in addition to its FileRecord: its ctime,
// and its first block of keys.
constexpr std::uint64_t kNumbersOfFile = 2;
constexpr std::uint64_t kBytesOfFile = sizeof(FileRecord) +
                                       kNumbersOfFile * sizeof(std::uint64_t) +
                                       PathLookup::Bytes(1);

}  // namespace

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
  FOREBAY_RETURN_IF_ERROR(index->CheckKeys());
  index->Summarize();
  index->by_path_ = PathLookup(index->parts_.files.size(), index->paths());
  base::MemoryReservation& held = index->parts_.reservation;
  held.ShrinkTo(std::min(held.bytes(), index->memory()));
  return index;
}

absl::Status RecordIndex::Check() {
  const auto& files = parts_.files;
  const std::uint64_t names = parts_.names.size();
  if (files.empty() ? size() > 0 : files.front().first_record != 0)
    return DamagedIndex("first record of file", 0);
  if (!parts_.begins.empty() && parts_.begins.size() != size())
    return DamagedIndex("number of begins", parts_.begins.size());
  if (!parts_.decompressed.empty() && parts_.decompressed.size() != size())
    return DamagedIndex("number of lengths", parts_.decompressed.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FileRecord& file = files[i];
    if (file.path_offset > names ||
        file.path_length > names - file.path_offset || file.path_length == 0 ||
        PathOf(file).find('\0') != std::string::npos) {
      return DamagedIndex("path of file", i);
    }
    if (file.first_record > EndOf(i) || EndOf(i) > size())
      return DamagedIndex("first record of file", i);
    FOREBAY_RETURN_IF_ERROR(CheckRecords(i));
  }
  return absl::OkStatus();
}

// Bounds and flags of the index are computed here, too: this is the only pass
// over all records. They are local variables, so that they stay in registers.
absl::Status RecordIndex::CheckRecords(std::size_t file) {
  const FileRecord& known = parts_.files[file];
  if (known.begin > known.size) return DamagedIndex("begin of file", file);
  const std::uint64_t* const begins =
      parts_.begins.empty() ? nullptr : parts_.begins.data();
  const std::uint64_t last = EndOf(file);
  LengthBounds lengths = lengths_;
  bool some_share = shares_extents_;
  bool all_ascend = extents_ascend_;
  std::uint64_t gathered = known.size;  // end of the virtual extents so far
  std::uint64_t end = known.begin;      // end of the previous record
  std::uint64_t before = 0;             // begin of the previous record
  for (std::uint64_t record = known.first_record; record < last; ++record) {
    const std::uint64_t begin = begins == nullptr ? end : begins[record];
    end = parts_.ends[record];
    // A record has at least one byte. So there are never more records than
    // bytes.
    if (end <= begin) return DamagedIndex("record", record);
    if (end > known.size || gathered > known.size) {
      // A gathered record needs an item in `begins`, and a key, which tells its
      // pieces. It may have the same extent as the previous record.
      const bool is_gathered =
          end > known.size && has_keys() && begins != nullptr;
      const bool is_shared = record > known.first_record &&
                             gathered > known.size && begin == before &&
                             end == gathered;
      if (!is_gathered || (begin != gathered && !is_shared))
        return DamagedIndex("end of record", record);
      gathered = end;
    }
    lengths.Add({end - begin, end - begin});
    if (record > known.first_record) {
      some_share |= begin == before;
      all_ascend &= begin >= before;
    }
    before = begin;
  }
  lengths_ = lengths;
  shares_extents_ = some_share;
  extents_ascend_ = all_ascend;
  return absl::OkStatus();
}

// A walk through all entries checks that each key lies within its block. The
// walk also finds where each file's keys begin.
absl::Status RecordIndex::CheckKeys() {
  if (!has_keys()) {
    if (!parts_.keys.bytes.empty()) return DamagedIndex("keys of block", 0);
    return absl::OkStatus();
  }
  const std::string_view bytes = parts_.keys.bytes;
  const absl::Span<const std::uint64_t> blocks = parts_.keys.blocks;
  std::uint64_t block = 0;
  std::uint64_t at = 0;
  for (std::size_t file = 0; file < parts_.files.size(); ++file) {
    first_blocks_.push_back(block);
    std::uint64_t left = EndOf(file) - parts_.files[file].first_record;
    for (; left > 0; left -= std::min(left, kKeysTogether), ++block) {
      if (block >= blocks.size() || blocks[block] != at)
        return DamagedIndex("keys of block", block);
      const auto size = MeasureBlock(
          bytes.substr(at), std::min(left, kKeysTogether), &longest_key_);
      if (!size.has_value()) return DamagedIndex("keys of block", block);
      at += *size;
    }
  }
  if (block != blocks.size() || at != bytes.size())
    return DamagedIndex("keys of block", block);
  return absl::OkStatus();
}

void RecordIndex::Summarize() {
  VersionDigest digest("records");
  digest.Add(std::string_view(parts_.format));
  for (std::size_t i = 0; i < parts_.files.size(); ++i) {
    const FileRecord& file = parts_.files[i];
    digest.Add(PathOf(file));
    digest.Add(EndOf(i) - file.first_record).Add(file.begin);
    digest.Add(file.size).Add(file.stamp).Add(file.transaction_id);
    gathers_ |= GatheredSize(i) > file.size;
    if (const auto* const compressed = CompressedOf(file);
        compressed != nullptr)
      digest.Add(compressed->compressed_size);
  }
  digest.AddItems(parts_.ends.data(), parts_.ends.size());
  digest.AddItems(parts_.begins.data(), parts_.begins.size());
  digest.AddItems(parts_.decompressed.data(), parts_.decompressed.size());
  digest.Add(std::string_view(parts_.keys.bytes));
  version_ = digest.Get();
}

std::uint64_t RecordIndex::EndOf(std::size_t file) const {
  return file + 1 < parts_.files.size() ? parts_.files[file + 1].first_record
                                        : size();
}

std::uint64_t RecordIndex::BeginOf(const FileRecord& file,
                                   std::uint64_t record) const {
  if (!parts_.begins.empty()) return parts_.begins[record];
  return record == file.first_record ? file.begin : parts_.ends[record - 1];
}

std::string_view RecordIndex::PathOf(const FileRecord& file) const {
  return std::string_view(parts_.names)
      .substr(file.path_offset, file.path_length);
}

const storage::compressed::CompressedFile* RecordIndex::CompressedOf(
    const FileRecord& file) const {
  return parts_.points == nullptr ? nullptr : parts_.points->Find(PathOf(file));
}

RecordIndex::Extent RecordIndex::ExtentOf(std::uint64_t record) const {
  FOREBAY_CHECK(record < size());
  // A file without records has the same first_record as the file after it. The
  // record is in the last file whose first_record is not greater than the
  // record's number.
  const auto after =
      std::upper_bound(parts_.files.begin(), parts_.files.end(), record,
                       [](std::uint64_t wanted, const FileRecord& file) {
                         return wanted < file.first_record;
                       });
  const auto number =
      static_cast<std::size_t>(after - parts_.files.begin()) - 1;
  const FileRecord& file = parts_.files[number];
  const std::uint64_t begin = BeginOf(file, record);
  return {.file = number,
          .record = record - file.first_record,
          .offset = begin,
          .length = parts_.ends[record] - begin};
}

std::uint64_t RecordIndex::BytesOf(std::uint64_t record) const {
  return parts_.decompressed.empty() ? ExtentOf(record).length
                                     : parts_.decompressed[record];
}

// Extents ascend, so the first record with the same extent is found by binary
// search.
std::uint64_t RecordIndex::PlaceOf(std::uint64_t record) const {
  FOREBAY_CHECK(extents_ascend_);
  if (parts_.begins.empty()) return 0;
  const auto end = parts_.begins.begin() + static_cast<std::ptrdiff_t>(record);
  const auto file = end - static_cast<std::ptrdiff_t>(ExtentOf(record).record);
  if (file == end || *(end - 1) != *end) return 0;
  return static_cast<std::uint64_t>(end - std::lower_bound(file, end, *end));
}

std::string RecordIndex::KeyOf(std::uint64_t record) const {
  FOREBAY_CHECK(has_keys());
  const Extent extent = ExtentOf(record);
  const std::uint64_t block =
      first_blocks_[extent.file] + extent.record / kKeysTogether;
  KeyReader keys(
      std::string_view(parts_.keys.bytes).substr(parts_.keys.blocks[block]));
  for (std::uint64_t i = 0; i <= extent.record % kKeysTogether; ++i)
    FOREBAY_CHECK(keys.Next());
  return keys.key();
}

storage::ListedObject RecordIndex::FileAt(std::size_t file) const {
  FOREBAY_CHECK(file < parts_.files.size());
  const FileRecord& record = parts_.files[file];
  return {std::string(PathOf(record)),
          {record.size,
           record.stamp,
           {record.inode, ctimes_[file], record.transaction_id}}};
}

std::uint64_t RecordIndex::GatheredSize(std::size_t file) const {
  FOREBAY_CHECK(file < parts_.files.size());
  const FileRecord& known = parts_.files[file];
  const std::uint64_t end = EndOf(file);
  // Gathered records come last, so the last record's end is the end of all
  // virtual extents.
  return end == known.first_record ? known.size
                                   : std::max(known.size, parts_.ends[end - 1]);
}

std::optional<std::size_t> RecordIndex::FileOf(std::string_view path) const {
  for (const std::size_t i : by_path_.Find(path, paths())) return i;
  return std::nullopt;
}

std::uint64_t RecordIndex::GatheredAt(std::size_t file,
                                      std::uint64_t offset) const {
  const std::uint64_t* const ends = parts_.ends.data();
  const std::uint64_t* const last = ends + EndOf(file);
  const auto* const found = std::partition_point(
      ends + parts_.files[file].first_record, last,
      [offset](std::uint64_t one) { return one <= offset; });
  return found == last ? size() : static_cast<std::uint64_t>(found - ends);
}

std::string_view RecordIndex::KeysOf(std::size_t file) const {
  if (!has_keys()) return {};
  const auto begin_of = [this](std::size_t number) -> std::uint64_t {
    if (number >= first_blocks_.size()) return parts_.keys.bytes.size();
    const std::uint64_t block = first_blocks_[number];
    return block < parts_.keys.blocks.size() ? parts_.keys.blocks[block]
                                             : parts_.keys.bytes.size();
  };
  return std::string_view(parts_.keys.bytes)
      .substr(begin_of(file), begin_of(file + 1) - begin_of(file));
}

bool RecordIndex::IsOf(absl::Span<const storage::ListedObject> files) const {
  if (files.size() != parts_.files.size()) return false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FileRecord& known = parts_.files[i];
    const auto* const compressed = CompressedOf(known);
    const storage::ObjectVersion version = {
        compressed != nullptr ? compressed->compressed_size : known.size,
        known.stamp,
        {known.inode, ctimes_[i]}};
    if (files[i].version != version || files[i].name != PathOf(known))
      return false;
  }
  return true;
}

storage::Revision RecordIndex::RevisionOf(std::string_view path) const {
  for (const std::size_t i : by_path_.Find(path, paths()))
    return {parts_.files[i].inode, ctimes_[i], parts_.files[i].transaction_id};
  return {};
}

bool RecordIndex::Accept(std::string_view path,
                         const storage::Revision& revision,
                         const FileRecords& records) const {
  const std::vector<std::size_t> files = by_path_.Find(path, paths());
  for (const std::size_t i : files) {
    if (revision.inode != parts_.files[i].inode || !HasRecords(i, records))
      return false;
  }
  for (const std::size_t i : files) ctimes_[i] = revision.ctime_nanos;
  return true;
}

bool RecordIndex::AcceptCompressed(std::string_view path,
                                   const storage::Revision& revision,
                                   std::uint32_t pieces_crc32c) const {
  const std::vector<std::size_t> files = by_path_.Find(path, paths());
  for (const std::size_t i : files) {
    const auto* const compressed = CompressedOf(parts_.files[i]);
    if (compressed == nullptr || compressed->pieces_crc32c != pieces_crc32c ||
        revision.inode != parts_.files[i].inode)
      return false;
  }
  for (const std::size_t i : files) ctimes_[i] = revision.ctime_nanos;
  return true;
}

// Bounds of fields are not compared: if a value does not fit its bounds,
// reading it fails.
bool RecordIndex::HasRecords(std::size_t file,
                             const FileRecords& records) const {
  const FileRecord& known = parts_.files[file];
  const std::uint64_t count = EndOf(file) - known.first_record;
  const auto first = static_cast<std::ptrdiff_t>(known.first_record);
  const auto same = [first](const std::vector<std::uint64_t>& now,
                            const std::vector<std::uint64_t>& indexed) {
    return std::equal(now.begin(), now.end(), indexed.begin() + first);
  };
  // Compares arrays that only some formats have.
  const auto is_same = [&](const std::vector<std::uint64_t>& now,
                           const std::vector<std::uint64_t>& indexed) {
    return now.size() == (indexed.empty() ? 0 : count) &&
           (now.empty() || same(now, indexed));
  };
  return records.begin == known.begin &&
         (known.transaction_id == 0 ||
          records.transaction_id == known.transaction_id) &&
         records.ends.size() == count && same(records.ends, parts_.ends) &&
         is_same(records.begins, parts_.begins) &&
         is_same(records.decompressed, parts_.decompressed) &&
         records.keys.bytes == KeysOf(file);
}

std::uint64_t RecordIndex::memory() const {
  return sizeof(RecordIndex) + parts_.names.capacity() +
         parts_.format.capacity() + parts_.files.capacity() * kBytesOfFile +
         (parts_.ends.capacity() + parts_.begins.capacity() +
          parts_.decompressed.capacity() + parts_.keys.blocks.capacity()) *
             sizeof(std::uint64_t) +
         parts_.keys.bytes.capacity() +
         parts_.bounds.capacity() * sizeof(LengthBounds);
}

std::uint64_t RecordIndex::Bytes(std::uint64_t files, std::uint64_t numbers,
                                 std::uint64_t bounds, std::uint64_t text) {
  return sizeof(RecordIndex) + files * kBytesOfFile +
         numbers * sizeof(std::uint64_t) + bounds * sizeof(LengthBounds) + text;
}

}  // namespace forebay::dataset::records
