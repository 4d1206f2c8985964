#include "server/dataset/zip/zip_index_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/folder/image_tree.h"
#include "server/dataset/shown_name.h"

// The files below the folder are sorted in ImageFolder's order, across all
// archives. The index of images and the list of their places are built from the
// sorted files, one by one. Therefore the index and the list have the same
// order.
//
// Only a member's own header says how many bytes of extra fields precede its
// data, and each header would cost a read. Instead, the builder uses the
// directory: a member's data must end before the next header in the archive.
// The bytes that are left for extra fields are the member's slack (SlackOf). An
// extent includes the slack.

namespace forebay::dataset::zip {
namespace {

// The folder in which macOS stores resource forks beside the files.
constexpr std::string_view kMacFolder = "__MACOSX";

// A file below the folder.
struct Candidate {
  std::uint32_t archive = 0;
  std::uint64_t file = 0;  // index in that archive's files
};

// Collects the archives, images and places of an index. Used by one thread.
// Counts its memory. Never blocks.
class Builder {
 public:
  Builder(const std::string& folder,
          absl::Span<const storage::ListedObject> archives,
          const std::vector<ArchiveContents>& contents,
          base::WorkingMemory& memory, folder::FolderKind kind)
      : prefix_(folder.empty() ? "" : folder + "/"),
        archives_(archives),
        contents_(contents),
        memory_(memory),
        tree_(memory, kind) {}

  // Adds archives and paths to `parts`, and collects the images and their
  // places.
  absl::Status Build(ZipIndexParts* parts);
  const std::vector<ImagePlace>& places() const { return places_; }
  std::vector<folder::ScannedDirectory> TakeDirectories() {
    return tree_.Take();
  }

 private:
  // Finds the files below the folder, and sorts them by their paths.
  absl::Status FindCandidates();
  // Sorts the offsets of all headers of each archive.
  absl::Status SortHeaders();
  // Adds a file to the tree. If the file is a sample, adds its place.
  absl::Status AddImage(const Candidate& candidate, const ZipIndexParts& parts);
  // Adds the archives and their positions to `parts`.
  absl::Status AddArchives(ZipIndexParts* parts) const;
  // Makes the error of two archives that both have the same path.
  absl::Status Twice(const Candidate& a, const Candidate& b) const;
  // Returns an upper bound of the bytes between the name in a file's header and
  // its data.
  std::uint16_t SlackOf(const Candidate& candidate) const;

  const ArchiveFile& FileOf(const Candidate& candidate) const {
    return contents_[candidate.archive].files[candidate.file];
  }
  // Returns the archive's name, for errors. Returns "" if there is only one
  // archive: errors name that archive anyway.
  std::string NameOf(const Candidate& candidate) const {
    return archives_.size() == 1
               ? ""
               : absl::StrCat(archives_[candidate.archive].name, ": ");
  }
  // Returns the file's path below the folder.
  std::string_view PathOf(const Candidate& candidate) const {
    return contents_[candidate.archive]
        .NameOf(FileOf(candidate))
        .substr(prefix_.size());
  }

  const std::string prefix_;
  const absl::Span<const storage::ListedObject> archives_;
  const std::vector<ArchiveContents>& contents_;
  base::WorkingMemory& memory_;
  folder::ObjectTree tree_;
  std::vector<Candidate> candidates_;
  std::vector<ImagePlace> places_;
  // For each archive, the sorted offsets of all its headers.
  std::vector<std::vector<std::uint64_t>> headers_;
};

absl::Status Builder::Build(ZipIndexParts* parts) {
  FOREBAY_RETURN_IF_ERROR(AddArchives(parts));
  FOREBAY_RETURN_IF_ERROR(FindCandidates());
  FOREBAY_RETURN_IF_ERROR(SortHeaders());
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& candidate = candidates_[i];
    if (i + 1 < candidates_.size() &&
        PathOf(candidate) == PathOf(candidates_[i + 1])) {
      if (candidate.archive != candidates_[i + 1].archive)
        return Twice(candidate, candidates_[i + 1]);
      continue;  // the path's last entry counts
    }
    FOREBAY_RETURN_IF_ERROR(AddImage(candidate, *parts));
  }
  return absl::OkStatus();
}

absl::Status Builder::AddArchives(ZipIndexParts* parts) const {
  FOREBAY_RETURN_IF_ERROR(memory_.MakeRoom(parts->archives, archives_.size()));
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < archives_.size(); ++i) {
    const storage::ObjectVersion& version = archives_[i].version;
    if (version.size > ImagePlace::kPositions - begin) {
      return absl::UnimplementedError(
          absl::StrCat("the archives have more than ", ImagePlace::kPositions,
                       " bytes together"));
    }
    parts->archives.push_back({.path_offset = parts->paths.size(),
                               .path_length = archives_[i].name.size(),
                               .begin = begin,
                               .size = version.size,
                               .stamp = version.stamp,
                               .inode = version.revision.inode,
                               .ctime_nanos = version.revision.ctime_nanos,
                               .directory = contents_[i].digest});
    parts->paths += archives_[i].name;
    begin += version.size;
  }
  return absl::OkStatus();
}

absl::Status Builder::FindCandidates() {
  for (std::size_t archive = 0; archive < contents_.size(); ++archive) {
    const ArchiveContents& contents = contents_[archive];
    for (std::size_t i = 0; i < contents.files.size(); ++i) {
      const std::string_view name = contents.NameOf(contents.files[i]);
      if (!name.starts_with(prefix_) || name.size() == prefix_.size()) continue;
      FOREBAY_RETURN_IF_ERROR(memory_.MakeRoom(candidates_, 1));
      candidates_.push_back({static_cast<std::uint32_t>(archive), i});
    }
  }
  if (candidates_.empty() && !prefix_.empty()) {
    return absl::NotFoundError(
        "there is no such folder in the archive, or nothing in it");
  }
  std::sort(candidates_.begin(), candidates_.end(),
            [this](const Candidate& a, const Candidate& b) {
              const std::string_view path_a = PathOf(a);
              const std::string_view path_b = PathOf(b);
              if (path_a != path_b) return folder::SampleLess(path_a, path_b);
              return std::pair(a.archive, a.file) <
                     std::pair(b.archive, b.file);
            });
  return absl::OkStatus();
}

absl::Status Builder::SortHeaders() {
  headers_.resize(contents_.size());
  for (std::size_t archive = 0; archive < contents_.size(); ++archive) {
    const std::vector<ArchiveFile>& files = contents_[archive].files;
    FOREBAY_RETURN_IF_ERROR(memory_.MakeRoom(headers_[archive], files.size()));
    for (const ArchiveFile& file : files)
      headers_[archive].push_back(file.header_offset);
    std::sort(headers_[archive].begin(), headers_[archive].end());
  }
  return absl::OkStatus();
}

absl::Status Builder::Twice(const Candidate& a, const Candidate& b) const {
  return absl::InvalidArgumentError(absl::StrCat(
      archives_[a.archive].name, " and ", archives_[b.archive].name,
      " both have ", ShownName(absl::StrCat(prefix_, std::string(PathOf(a)))),
      ": archives that make one tree have each path once"));
}

std::uint16_t Builder::SlackOf(const Candidate& candidate) const {
  const ArchiveFile& file = FileOf(candidate);
  const std::vector<std::uint64_t>& headers = headers_[candidate.archive];
  const auto next =
      std::upper_bound(headers.begin(), headers.end(), file.header_offset);
  const std::uint64_t end =
      next == headers.end() ? contents_[candidate.archive].end : *next;
  const std::uint64_t least =
      file.header_offset + kHeaderBytes + file.name_length + file.compressed;
  return static_cast<std::uint16_t>(
      end < least ? 0 : std::min(end - least, kLongestExtra));
}

// Whether each part of the path is the name of a file or folder. Other parts
// ("", "." and "..") may lead elsewhere when the archive is extracted.
bool IsPlainPath(std::string_view path) {
  for (const absl::string_view part :
       absl::StrSplit(absl::string_view(path.data(), path.size()), '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

absl::Status Builder::AddImage(const Candidate& candidate,
                               const ZipIndexParts& parts) {
  const ArchiveFile& file = FileOf(candidate);
  storage::ListedObject image;
  image.name = PathOf(candidate);
  image.version.size = file.length;
  const bool is_huge = file.compressed > UINT32_MAX;
  if (!is_huge) {
    image.version.stamp =
        ImageStamp(file.crc32, static_cast<std::uint32_t>(file.compressed));
  }
  FOREBAY_ASSIGN_OR_RETURN(const bool is_sample, tree_.Add(image));
  if (!is_sample) return absl::OkStatus();
  if (!IsPlainPath(image.name)) {
    return absl::UnimplementedError(absl::StrCat(
        NameOf(candidate), "the image ",
        ShownName(absl::StrCat(prefix_, image.name)),
        " has a path that is not read, with a part that is empty, . or .."));
  }
  if (is_huge) {
    return absl::UnimplementedError(absl::StrCat(
        NameOf(candidate), "the image ",
        ShownName(absl::StrCat(prefix_, image.name)), " takes ",
        file.compressed, " bytes, which is more than is supported"));
  }
  FOREBAY_RETURN_IF_ERROR(memory_.MakeRoom(places_, 1));
  places_.push_back(
      {parts.archives[candidate.archive].begin + file.header_offset,
       SlackOf(candidate), file.method});
  return absl::OkStatus();
}

// Whether all files' names begin with "./", as some writers store them.
bool AreInTheDot(const std::vector<ArchiveContents>& contents) {
  bool any = false;
  for (const ArchiveContents& archive : contents) {
    for (const ArchiveFile& file : archive.files) {
      if (!archive.NameOf(file).starts_with("./")) return false;
      any = true;
    }
  }
  return any;
}

// Returns the longest path of whole components with which both paths begin.
std::string_view CommonFolder(std::string_view a, std::string_view b) {
  std::size_t common = 0;
  for (std::size_t i = 0;; ++i) {
    const bool ends_a = i == a.size() || a[i] == '/';
    const bool ends_b = i == b.size() || b[i] == '/';
    if (ends_a && ends_b) common = i;
    if (i == a.size() || i == b.size() || a[i] != b[i]) break;
  }
  return a.substr(0, common);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ZipIndex>> BuildZipIndex(
    const std::string& uri, const std::string& folder,
    absl::Span<const storage::ListedObject> archives,
    std::vector<ArchiveContents> contents, base::WorkingMemory& memory,
    folder::FolderKind kind) {
  FOREBAY_CHECK(contents.size() == archives.size());
  ZipIndexParts parts;
  parts.folder = folder;
  if (AreInTheDot(contents))
    parts.folder = folder.empty() ? "." : absl::StrCat("./", folder);
  std::vector<folder::ScannedDirectory> directories;
  {
    // The builder is destroyed before the index of images is built, to save
    // memory.
    Builder builder(parts.folder, archives, contents, memory, kind);
    if (const absl::Status built = builder.Build(&parts); !built.ok())
      return base::Annotate(built, uri);
    FOREBAY_ASSIGN_OR_RETURN(parts.reservation,
                             memory.Keep(ZipIndex::Bytes(
                                 parts.archives.size(), builder.places().size(),
                                 parts.paths.size() + parts.folder.size())));
    parts.places = ImagePlaces(builder.places());
    directories = builder.TakeDirectories();
  }
  contents.clear();
  contents.shrink_to_fit();
  FOREBAY_ASSIGN_OR_RETURN(
      parts.images, folder::BuildFolderIndex(std::move(directories), uri,
                                             /*scanned_at_nanos=*/0,
                                             /*link_context=*/0, memory, kind));
  parts.paths.shrink_to_fit();
  parts.archives.shrink_to_fit();
  return ZipIndex::Create(std::move(parts));
}

std::string FolderOfClasses(const folder::FolderIndex& images) {
  const auto& directories = images.parts().directories;
  std::string_view common;
  bool found = false;
  bool is_filled = false;  // whether images lie directly in the common folder
  for (std::size_t i = 1; i < directories.size(); ++i) {
    const std::uint64_t end = i + 1 < directories.size()
                                  ? directories[i + 1].first_sample
                                  : images.size();
    const std::string_view path = images.PathOf(directories[i]);
    if (end == directories[i].first_sample ||
        path.substr(0, path.find('/')) == kMacFolder) {
      continue;
    }
    const std::string_view before = common;
    common = found ? CommonFolder(common, path) : path;
    is_filled = path == common || (is_filled && before == common);
    found = true;
  }
  // If images lie directly in the common folder, it is a class, and its parent
  // is returned.
  if (is_filled) common = common.substr(0, common.find_last_of('/') + 1);
  if (common.ends_with('/')) common.remove_suffix(1);
  return std::string(common);
}

}  // namespace forebay::dataset::zip
