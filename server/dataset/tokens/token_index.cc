// A run of tokens is a file or, if documents are cut one by one, a document.
// The index stores no windows: TokenWindows computes the windows of a run from
// its number of tokens. To find a window, ExtentOf first searches for its file,
// by the files' first windows. Then it searches for the document in the file,
// and computes the window's place in the document.
//
// Two arrays hold the documents: their ends, and the number of windows before
// each. If every document has exactly one window, as when windows are whole
// documents, the second array is dropped. The number of a window is then the
// number of its document.
#include "server/dataset/tokens/token_index.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/array/npy_array.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/version_digest.h"

namespace forebay::dataset::tokens {
namespace {

// The most windows. Up to this bound, positions in epochs do not overflow.
constexpr std::uint64_t kMaxWindows = std::uint64_t{1} << 62;

bool IsSame(const storage::ListedObject& a, const storage::ListedObject& b) {
  return a.name == b.name && a.version == b.version;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TokenIndex>> TokenIndex::Create(
    std::vector<TokenFile> files, const TokenSettings& settings,
    std::vector<FileTokens> tokens, base::WorkingMemory& memory) {
  FOREBAY_CHECK(!files.empty() && files.size() == tokens.size());
  std::uint64_t documents = 0;
  std::uint64_t bytes =
      sizeof(TokenIndex) +
      files.size() * (sizeof(File) + sizeof(std::atomic<std::int64_t>));
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (tokens[i].dtype != tokens[0].dtype) {
      return absl::InvalidArgumentError(
          absl::StrCat(files[i].data.name, ": has tokens of ",
                       array::DescribeArray(tokens[i].dtype, {}),
                       ", but those of ", files[0].data.name, " are ",
                       array::DescribeArray(tokens[0].dtype, {})));
    }
    documents += tokens[i].ends.size();
    bytes +=
        2 * base::HeapBytes(files[i].data.name.size()) + PathLookup::Bytes(1);
  }
  // Memory is reserved for both arrays of documents. If the second array turns
  // out to be unnecessary, its part is released.
  bytes += 2 * documents * sizeof(std::uint64_t);
  FOREBAY_ASSIGN_OR_RETURN(base::MemoryReservation reservation,
                           memory.Keep(bytes));
  std::shared_ptr<TokenIndex> index(
      new TokenIndex(settings, tokens[0].dtype, files.size()));
  index->files_.reserve(files.size());
  index->ends_.reserve(documents);
  index->first_windows_.reserve(documents);
  for (std::size_t i = 0; i < files.size(); ++i) {
    FOREBAY_RETURN_IF_ERROR(index->Add(std::move(files[i]), tokens[i]));
    tokens[i] = {};
  }
  // If each document has one window, a window's number is its document's
  // number.
  if (index->has_one_each_) {
    std::vector<std::uint64_t>().swap(index->first_windows_);
    reservation.ShrinkTo(bytes - documents * sizeof(std::uint64_t));
  }
  index->reservation_ = std::move(reservation);
  index->Digest();
  index->by_path_ = PathLookup(index->files_.size(), index->paths());
  return index;
}

absl::Status TokenIndex::Add(TokenFile file, const FileTokens& tokens) {
  const std::string name = file.data.name;
  ctimes_[files_.size()] = file.data.version.revision.ctime_nanos;
  files_.push_back({.file = std::move(file),
                    .data_offset = tokens.data_offset,
                    .count = tokens.count,
                    .first_window = size_,
                    .first_document = ends_.size()});
  if (tokens.ends.empty()) return AddRun(name, tokens.count);
  std::uint64_t begin = 0;
  for (const std::uint64_t end : tokens.ends) {
    FOREBAY_CHECK(begin <= end && end <= tokens.count);
    const std::uint64_t before = size_;
    first_windows_.push_back(before);
    ends_.push_back(end);
    FOREBAY_RETURN_IF_ERROR(AddRun(name, end - begin));
    has_one_each_ = has_one_each_ && size_ == before + 1;
    begin = end;
  }
  return absl::OkStatus();
}

absl::Status TokenIndex::AddRun(const std::string& file, std::uint64_t tokens) {
  const std::uint64_t count = windows_.CountIn(tokens);
  if (count > kMaxWindows - size_) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": up to here there are more than ", kMaxWindows, " windows"));
  }
  size_ += count;
  if (count > 0) longest_ = std::max(longest_, windows_.LengthOf(0, tokens));
  return absl::OkStatus();
}

void TokenIndex::Digest() {
  VersionDigest digest("tokens");
  digest.Add(std::string_view(settings_.text()));
  digest.Add(static_cast<std::uint32_t>(dtype_)).Add(size_);
  for (const File& file : files_) {
    const storage::ListedObject& data = file.file.data;
    digest.Add(std::string_view(data.name)).Add(file.count);
    digest.Add(data.version.size).Add(data.version.stamp);
    if (!file.file.index.has_value()) continue;
    const storage::ObjectVersion& index = file.file.index->version;
    digest.Add(index.size).Add(index.stamp);
  }
  digest.AddItems(ends_.data(), ends_.size());
  version_ = digest.Get();
}

TokenIndex::Extent TokenIndex::ExtentOf(std::uint64_t window) const {
  FOREBAY_CHECK(window < size_);
  // A file without windows has the same first_window as the file after it.
  // upper_bound passes all such files, so the file before its result has the
  // window.
  const auto after =
      std::upper_bound(files_.begin(), files_.end(), window,
                       [](std::uint64_t wanted, const File& file) {
                         return wanted < file.first_window;
                       });
  const File& file = *std::prev(after);
  const std::size_t end_document =
      after == files_.end() ? ends_.size() : after->first_document;
  // The window's number in its run, and the run's begin and end in tokens.
  std::uint64_t within = window - file.first_window;
  std::uint64_t begin = 0;
  std::uint64_t end = file.count;
  if (file.first_document < end_document) {
    // If each document has one window, no search is needed.
    std::size_t document = file.first_document + within;
    within = 0;
    if (!has_one_each_) {
      const auto next = std::upper_bound(
          first_windows_.begin() +
              static_cast<std::ptrdiff_t>(file.first_document),
          first_windows_.begin() + static_cast<std::ptrdiff_t>(end_document),
          window);
      document = static_cast<std::size_t>(next - first_windows_.begin()) - 1;
      within = window - first_windows_[document];
    }
    if (document > file.first_document) begin = ends_[document - 1];
    end = ends_[document];
  }
  Extent extent;
  extent.file = static_cast<std::size_t>(after - files_.begin()) - 1;
  extent.first = begin + within * windows_.stride;
  extent.count = windows_.LengthOf(within, end - begin);
  extent.offset = file.data_offset + extent.first * proto::SizeOf(dtype_);
  return extent;
}

storage::ObjectVersion TokenIndex::VersionOf(std::size_t file) const {
  storage::ObjectVersion version = files_[file].file.data.version;
  version.revision.ctime_nanos = ctimes_[file];
  return version;
}

std::size_t TokenIndex::FindFile(std::string_view path) const {
  const std::vector<std::size_t> found = by_path_.Find(path, paths());
  return found.empty() ? 0 : *std::min_element(found.begin(), found.end());
}

bool TokenIndex::Accept(std::size_t file,
                        const storage::Revision& revision) const {
  const storage::ListedObject& known = files_[file].file.data;
  if (revision.inode != known.version.revision.inode) return false;
  for (const std::size_t i : by_path_.Find(known.name, paths()))
    ctimes_[i] = revision.ctime_nanos;
  return true;
}

bool TokenIndex::IsOf(absl::Span<const TokenFile> files) const {
  if (files.size() != files_.size()) return false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const TokenFile& known = files_[i].file;
    if (files[i].data.version != VersionOf(i) ||
        files[i].data.name != known.data.name ||
        files[i].index.has_value() != known.index.has_value() ||
        (known.index.has_value() && !IsSame(*files[i].index, *known.index)))
      return false;
  }
  return true;
}

}  // namespace forebay::dataset::tokens
