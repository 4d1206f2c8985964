#include "server/dataset/index.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::dataset {
namespace {

// The coarsest times that file systems keep (FAT's).
constexpr std::int64_t kTimeGranuleNanos = 2'000'000'000;

absl::Status Broken(std::string_view what, std::uint64_t number) {
  return absl::DataLossError(
      absl::StrCat("index: ", absl::string_view(what.data(), what.size()), " ",
                   number, " is out of range"));
}

template <typename Number>
void Update(XXH3_state_t* state, Number number) {
  XXH3_128bits_update(state, &number, sizeof(number));
}

void Update(XXH3_state_t* state, std::string_view text) {
  Update(state, std::uint64_t{text.size()});
  XXH3_128bits_update(state, text.data(), text.size());
}

}  // namespace

IndexRecord::IndexRecord(std::uint32_t name_offset, std::size_t name_length,
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

absl::StatusOr<std::shared_ptr<const Index>> Index::Create(IndexParts parts) {
  std::shared_ptr<Index> index(new Index(std::move(parts)));
  FOREBAY_RETURN_IF_ERROR(index->CheckDirectories());
  FOREBAY_RETURN_IF_ERROR(index->CheckRecords());
  index->Summarize();
  base::MemoryReservation& held = index->parts_.reservation;
  held.ShrinkTo(std::min(held.bytes(), index->memory()));
  return index;
}

std::uint64_t Index::EndOf(std::size_t directory) const {
  return directory + 1 < parts_.directories.size()
             ? parts_.directories[directory + 1].first_sample
             : size();
}

std::string_view Index::NameOf(const IndexDirectory& directory,
                               const IndexRecord& record) const {
  return std::string_view(parts_.names)
      .substr(
          directory.path_offset + directory.path_length + record.name_offset(),
          record.name_length());
}

// Fills in the classes on the way.
absl::Status Index::CheckDirectories() {
  const auto& directories = parts_.directories;
  const std::uint64_t names = parts_.names.size();
  if (directories.empty()) return Broken("directory", 0);
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const IndexDirectory& directory = directories[i];
    if (directory.path_offset > names ||
        directory.path_length > names - directory.path_offset) {
      return Broken("path of directory", i);
    }
    if (directory.first_sample > EndOf(i) || EndOf(i) > size()) {
      return Broken("first sample of directory", i);
    }
    const std::string_view path = PathOf(directory);
    if (i == 0) {
      if (!path.empty() || directory.label != IndexDirectory::kNoLabel ||
          directory.first_sample != 0 || EndOf(0) != 0) {
        return Broken("directory", i);
      }
      continue;
    }
    if (path.empty() || path.find('\0') != path.npos) {
      return Broken("path of directory", i);
    }
    if (path.find('/') == path.npos) classes_.emplace_back(path);
    if (directory.label + std::uint64_t{1} != classes_.size()) {
      return Broken("label of directory", i);
    }
  }
  return absl::OkStatus();
}

absl::Status Index::CheckRecords() const {
  const std::string_view names = parts_.names;
  for (std::size_t i = 0; i < parts_.directories.size(); ++i) {
    const IndexDirectory& directory = parts_.directories[i];
    const std::uint64_t room =
        names.size() - directory.path_offset - directory.path_length;
    for (std::uint64_t id = directory.first_sample; id < EndOf(i); ++id) {
      const IndexRecord& record = parts_.records[id];
      if (record.name_offset() > room || record.name_length() == 0 ||
          record.name_length() > room - record.name_offset()) {
        return Broken("name of sample", id);
      }
      const std::string_view name = NameOf(directory, record);
      if (std::memchr(name.data(), '/', name.size()) != nullptr ||
          std::memchr(name.data(), '\0', name.size()) != nullptr) {
        return Broken("name of sample", id);
      }
    }
  }
  return absl::OkStatus();
}

void Index::Summarize() {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (std::size_t i = 0; i < parts_.directories.size(); ++i) {
    const IndexDirectory& directory = parts_.directories[i];
    last_change_nanos_ =
        std::max(last_change_nanos_, directory.stamp.ctime_nanos);
    const std::uint64_t count = EndOf(i) - directory.first_sample;
    if (count == 0) continue;
    Update(&state, PathOf(directory));
    Update(&state, directory.label);
    Update(&state, count);
    // The records, where their names lie included, and the names.
    const IndexRecord* records = &parts_.records[directory.first_sample];
    XXH3_128bits_update(&state, records, count * sizeof(IndexRecord));
    for (const IndexRecord* record = records; record < records + count;
         ++record) {
      largest_sample_ = std::max(largest_sample_, record->size());
      const std::string_view name = NameOf(directory, *record);
      XXH3_128bits_update(&state, name.data(), name.size());
    }
  }
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
  static_assert(sizeof(canonical.digest) == sizeof(Version));
  std::memcpy(version_.data(), canonical.digest, sizeof(Version));
}

const IndexDirectory& Index::DirectoryOf(std::uint64_t id) const {
  FOREBAY_CHECK(id < size());
  const auto after = std::upper_bound(
      parts_.directories.begin(), parts_.directories.end(), id,
      [](std::uint64_t wanted, const IndexDirectory& directory) {
        return wanted < directory.first_sample;
      });
  return *std::prev(after);
}

Sample Index::At(std::uint64_t id) const {
  const IndexDirectory& directory = DirectoryOf(id);
  const IndexRecord& record = parts_.records[id];
  const std::string_view path = PathOf(directory);
  const std::string_view name = NameOf(directory, record);
  Sample sample;
  sample.object.reserve(path.size() + 1 + name.size());
  sample.object.append(path).append("/").append(name);
  sample.version = {record.size(), record.mtime_nanos()};
  sample.length = record.size();
  return sample;
}

bool Index::IsSettled(std::int64_t scanned_at_nanos) const {
  return scanned_at_nanos > last_change_nanos_ &&
         scanned_at_nanos - last_change_nanos_ > kTimeGranuleNanos;
}

bool Index::IsSameAs(const Index& other) const {
  return version() == other.version() &&
         parts_.link_context == other.parts_.link_context &&
         std::equal(parts_.directories.begin(), parts_.directories.end(),
                    other.parts_.directories.begin(),
                    other.parts_.directories.end(),
                    [](const IndexDirectory& a, const IndexDirectory& b) {
                      return a.stamp == b.stamp;
                    });
}

std::uint64_t Index::memory() const {
  std::uint64_t bytes = sizeof(Index) + parts_.names.capacity() +
                        parts_.records.capacity() * sizeof(IndexRecord) +
                        parts_.directories.capacity() * sizeof(IndexDirectory);
  for (const std::string& name : classes_) {
    bytes += sizeof(std::string) + name.capacity();
  }
  return bytes;
}

// Each directory may be a class, whose name stands alone, too; in a vector that
// grows.
std::uint64_t Index::Bytes(std::uint64_t directories, std::uint64_t samples,
                           std::uint64_t names) {
  constexpr std::uint64_t kClass = 3 * sizeof(std::string) + base::HeapBytes(0);
  return sizeof(Index) + 2 * names + samples * sizeof(IndexRecord) +
         directories * (sizeof(IndexDirectory) + kClass);
}

}  // namespace forebay::dataset
