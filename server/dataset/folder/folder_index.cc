#include "server/dataset/folder/folder_index.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/index_file.h"
#include "server/dataset/version_digest.h"

// The samples of a directory are consecutive. So a sample's directory, which
// has its path and label, is found by binary search. A directory's path is
// stored once, and the names of its files follow it. Create checks every
// offset, since the parts may come from a damaged file. Later calls rely on
// these checks.

namespace forebay::dataset::folder {
namespace {

// The granularity of the coarsest times that file systems store: FAT's two
// seconds.
constexpr std::int64_t kTimeGranuleNanos = 2'000'000'000;

// Whether concatenated names contain neither a slash nor a NUL.
bool HasNamesOnly(std::string_view run) {
  return run.find('/') == run.npos && run.find('\0') == run.npos;
}

}  // namespace

FolderFile::FolderFile(std::uint32_t name_offset, std::size_t name_length,
                       std::uint64_t size, std::int64_t mtime_nanos)
    : name_offset_(name_offset),
      mtime_low_(static_cast<std::uint32_t>(mtime_nanos)),
      mtime_high_(static_cast<std::uint32_t>(
          static_cast<std::uint64_t>(mtime_nanos) >> 32)),
      name_length_(static_cast<std::uint16_t>(name_length)) {
  FOREBAY_CHECK(name_length <= kLongestName);
  size = std::min(size, kLargestSize);
  size_low_ = static_cast<std::uint32_t>(size);
  size_high_ = static_cast<std::uint16_t>(size >> 32);
}

absl::StatusOr<std::shared_ptr<const FolderIndex>> FolderIndex::Create(
    FolderIndexParts parts) {
  std::shared_ptr<FolderIndex> index(new FolderIndex(std::move(parts)));
  FOREBAY_RETURN_IF_ERROR(index->CheckDirectories());
  FOREBAY_RETURN_IF_ERROR(index->CheckRecords());
  base::MemoryReservation& held = index->parts_.reservation;
  held.ShrinkTo(std::min(held.bytes(), index->memory()));
  return index;
}

std::uint64_t FolderIndex::EndOf(std::size_t directory) const {
  return directory + 1 < parts_.directories.size()
             ? parts_.directories[directory + 1].first_sample
             : size();
}

std::string_view FolderIndex::NameOf(const DirectoryRecord& directory,
                                     const FolderFile& record) const {
  return std::string_view(parts_.names)
      .substr(
          directory.path_offset + directory.path_length + record.name_offset(),
          record.name_length());
}

// A directory without a slash in its path is a class. The directories below it
// follow, and have its label.
absl::Status FolderIndex::CheckDirectories() {
  const auto& directories = parts_.directories;
  const std::uint64_t names = parts_.names.size();
  if (directories.empty()) return DamagedIndex("directory", 0);
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const DirectoryRecord& directory = directories[i];
    if (directory.path_offset > names ||
        directory.path_length > names - directory.path_offset) {
      return DamagedIndex("path of directory", i);
    }
    if (directory.first_sample > EndOf(i) || EndOf(i) > size()) {
      return DamagedIndex("first sample of directory", i);
    }
    const std::string_view path = PathOf(directory);
    if (i == 0) {
      if (!path.empty() || directory.label != DirectoryRecord::kNoLabel ||
          directory.first_sample != 0 ||
          (directories.size() > 1 && EndOf(0) != 0)) {
        return DamagedIndex("directory", i);
      }
      continue;
    }
    if (path.empty() || path.find('\0') != path.npos) {
      return DamagedIndex("path of directory", i);
    }
    if (path.find('/') == path.npos) classes_.emplace_back(path);
    if (directory.label + std::uint64_t{1} != classes_.size()) {
      return DamagedIndex("label of directory", i);
    }
  }
  return absl::OkStatus();
}

// The version is a digest of the records as they lie in memory, with the
// offsets of names, and then of the names.
absl::Status FolderIndex::CheckRecords() {
  VersionDigest digest;
  smallest_sample_ = size() == 0 ? 0 : FolderFile::kLargestSize;
  for (std::size_t i = 0; i < parts_.directories.size(); ++i) {
    const DirectoryRecord& directory = parts_.directories[i];
    last_change_nanos_ =
        std::max(last_change_nanos_, directory.version.ctime_nanos);
    const std::uint64_t count = EndOf(i) - directory.first_sample;
    if (count == 0) continue;
    digest.Add(PathOf(directory)).Add(directory.label).Add(count);
    digest.AddItems(&parts_.records[directory.first_sample], count);
    FOREBAY_RETURN_IF_ERROR(CheckNames(directory, EndOf(i), digest));
  }
  version_ = digest.Get();
  return absl::OkStatus();
}

absl::Status FolderIndex::CheckNames(const DirectoryRecord& directory,
                                     std::uint64_t end, VersionDigest& digest) {
  const std::string_view names =
      std::string_view(parts_.names)
          .substr(directory.path_offset + directory.path_length);
  std::uint64_t largest = largest_sample_;
  std::uint64_t smallest = smallest_sample_;
  // Names are mostly contiguous. A run of contiguous names is checked and
  // digested at once: this is faster than name by name.
  std::uint64_t first = directory.first_sample;  // the run's first sample
  std::uint64_t run_begin = 0;
  std::uint64_t run_end = 0;
  const auto end_run = [&](std::uint64_t next) {
    const std::string_view run = names.substr(run_begin, run_end - run_begin);
    if (!HasNamesOnly(run)) return DamagedIndex("names from sample", first);
    digest.AddItems(run.data(), run.size());
    first = next;
    return absl::OkStatus();
  };
  for (std::uint64_t id = directory.first_sample; id < end; ++id) {
    const FolderFile& record = parts_.records[id];
    const std::uint64_t offset = record.name_offset();
    const std::uint64_t length = record.name_length();
    if (offset > names.size() || length == 0 || length > names.size() - offset)
      return DamagedIndex("name of sample", id);
    largest = std::max(largest, record.size());
    smallest = std::min(smallest, record.size());
    if (offset != run_end) {
      FOREBAY_RETURN_IF_ERROR(end_run(id));
      run_begin = offset;
    }
    run_end = offset + length;
  }
  largest_sample_ = largest;
  smallest_sample_ = smallest;
  return end_run(end);
}

const DirectoryRecord& FolderIndex::DirectoryOf(std::uint64_t id) const {
  FOREBAY_CHECK(id < size());
  const auto after = std::upper_bound(
      parts_.directories.begin(), parts_.directories.end(), id,
      [](std::uint64_t wanted, const DirectoryRecord& directory) {
        return wanted < directory.first_sample;
      });
  return *std::prev(after);
}

Sample FolderIndex::At(std::uint64_t id) const {
  const DirectoryRecord& directory = DirectoryOf(id);
  const FolderFile& record = parts_.records[id];
  const std::string_view path = PathOf(directory);
  const std::string_view name = NameOf(directory, record);
  Sample sample;
  sample.object.reserve(path.size() + 1 + name.size());
  sample.object.append(path).append(path.empty() ? "" : "/").append(name);
  sample.version = {record.size(), record.mtime_nanos()};
  sample.length = record.size();
  return sample;
}

// A directory that changes twice within kTimeGranuleNanos may have the same
// time after both changes. If the scan began more than kTimeGranuleNanos after
// the last known change, it saw both changes.
bool FolderIndex::IsSettled() const {
  const std::int64_t scanned = scanned_at_nanos_;
  return scanned > last_change_nanos_ &&
         scanned - last_change_nanos_ > kTimeGranuleNanos;
}

bool FolderIndex::IsSameAs(const FolderIndex& other) const {
  return version() == other.version() &&
         parts_.link_context == other.parts_.link_context &&
         std::equal(parts_.directories.begin(), parts_.directories.end(),
                    other.parts_.directories.begin(),
                    other.parts_.directories.end(),
                    [](const DirectoryRecord& a, const DirectoryRecord& b) {
                      return a.version == b.version;
                    });
}

std::uint64_t FolderIndex::memory() const {
  std::uint64_t bytes = sizeof(FolderIndex) + parts_.names.capacity() +
                        parts_.records.capacity() * sizeof(FolderFile) +
                        parts_.directories.capacity() * sizeof(DirectoryRecord);
  for (const std::string& name : classes_) {
    bytes += sizeof(std::string) + name.capacity();
  }
  return bytes;
}

// Each directory may be a class. If so, its name is stored a second time, in a
// vector whose capacity may be twice its size.
std::uint64_t FolderIndex::Bytes(std::uint64_t directories,
                                 std::uint64_t samples, std::uint64_t names) {
  constexpr std::uint64_t kClass = 3 * sizeof(std::string) + base::HeapBytes(0);
  return sizeof(FolderIndex) + 2 * names + samples * sizeof(FolderFile) +
         directories * (sizeof(DirectoryRecord) + kClass);
}

}  // namespace forebay::dataset::folder
