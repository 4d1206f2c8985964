#include "server/dataset/folder/image_tree.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "server/base/status.h"
#include "server/dataset/path_order.h"

// Labels and sample numbers must equal torchvision's, since users mix Forebay
// and torchvision. They follow from three orders: classes are sorted by name;
// the directories of a class by path, as in sorted(os.walk(class)); and the
// files of a directory by name. Names are compared as Python compares them
// (path_order.h).

namespace forebay::dataset::folder {
namespace {

// The suffixes of torchvision.datasets.folder.IMG_EXTENSIONS.
constexpr std::string_view kImageExtensions[] = {
    ".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"};
constexpr std::string_view kArrayExtensions[] = {".npy"};
constexpr std::string_view kAudioExtensions[] = {".wav", ".flac", ".ogg",
                                                 ".opus", ".mp3"};

bool AreAudio(FolderKind kind) {
  return kind == FolderKind::kClassAudio || kind == FolderKind::kFlatAudio;
}

// Whether samples may lie directly in the root.
bool MayBeFlat(FolderKind kind) {
  return kind == FolderKind::kFlatArrays || kind == FolderKind::kArrays ||
         kind == FolderKind::kFlatAudio;
}

// Whether files in the root's folders are not samples.
bool IsFlat(FolderKind kind) {
  return kind == FolderKind::kFlatArrays || kind == FolderKind::kFlatAudio;
}

// Returns the suffixes of samples, in lower case.
absl::Span<const std::string_view> ExtensionsOf(FolderKind kind) {
  if (kind == FolderKind::kImages) return kImageExtensions;
  if (AreAudio(kind)) return kAudioExtensions;
  return kArrayExtensions;
}

// Whether the name ends in one of the suffixes, in upper or lower case. Only
// ASCII letters are made lower case. Python changes other letters, too, but
// none of them can turn into a suffix.
bool EndsInOneOf(std::string_view name,
                 absl::Span<const std::string_view> extensions) {
  return std::any_of(
      extensions.begin(), extensions.end(), [&](std::string_view extension) {
        return name.size() >= extension.size() &&
               std::equal(extension.begin(), extension.end(),
                          name.end() - extension.size(),
                          [](char want, char have) {
                            return want == absl::ascii_tolower(have);
                          });
      });
}

// The most empty classes that an error names.
constexpr std::size_t kNamedClasses = 10;

// Returns the first component of a path, which names the class.
std::string_view ClassOf(std::string_view path) {
  return path.substr(0, path.find('/'));
}

// Returns the path of a file's directory, and the file's name there.
std::pair<std::string_view, std::string_view> Split(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return {{}, path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

// Whether directory `a` comes before `b`: the root first, then class by class,
// in the order of sorted(os.walk(class)).
bool DirectoryLess(std::string_view a, std::string_view b) {
  const std::string_view class_a = ClassOf(a);
  const std::string_view class_b = ClassOf(b);
  return class_a == class_b ? PathLess(a, b) : PathLess(class_a, class_b);
}

// Sorts the directories in the index's order: the root, then class by class.
void SortByClass(std::vector<ScannedDirectory>& directories) {
  std::sort(directories.begin(), directories.end(),
            [](const ScannedDirectory& a, const ScannedDirectory& b) {
              return DirectoryLess(a.path, b.path);
            });
}

// Checks that there are classes, and that each has a sample, as ImageFolder
// does.
absl::Status CheckClasses(const FolderIndex& index, const std::string& uri,
                          FolderKind kind) {
  if (index.classes().empty()) {
    return absl::NotFoundError(
        absl::StrCat(uri, ": found no class folder in it"));
  }
  std::vector<bool> filled(index.classes().size());
  const auto& directories = index.parts().directories;
  for (std::size_t i = 1; i < directories.size(); ++i) {
    const std::uint64_t end = i + 1 < directories.size()
                                  ? directories[i + 1].first_sample
                                  : index.size();
    if (end > directories[i].first_sample) filled[directories[i].label] = true;
  }
  const std::size_t empty = std::count(filled.begin(), filled.end(), false);
  if (empty == 0) return absl::OkStatus();
  std::string names;
  std::size_t named = 0;
  for (std::size_t label = 0; label < filled.size(); ++label) {
    if (filled[label] || named == kNamedClasses) continue;
    absl::StrAppend(&names, named++ == 0 ? "" : ", ", index.classes()[label]);
  }
  if (empty > named) {
    absl::StrAppend(&names, " and ", empty - named, " more");
  }
  std::string extensions;
  for (const std::string_view extension : ExtensionsOf(kind)) {
    absl::StrAppend(&extensions, extensions.empty() ? "" : ", ",
                    std::string(extension));
  }
  return absl::NotFoundError(
      absl::StrCat(uri, ": found no valid file for the classes ", names,
                   "; supported extensions are ", extensions));
}

// Decides whether samples lie directly in the root. If they do, removes the
// other directories.
absl::Status ChooseFlat(const std::string& uri, FolderKind kind,
                        std::vector<ScannedDirectory>& directories) {
  const bool in_root = !directories.front().records.empty();
  const auto filled = std::find_if(directories.begin() + 1, directories.end(),
                                   [](const ScannedDirectory& directory) {
                                     return !directory.records.empty();
                                   });
  if (kind == FolderKind::kArrays && in_root && filled != directories.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        uri, ": .npy files lie directly in it and in the folder ", filled->path,
        ": say whether folders are classes, by labels=True or labels=False"));
  }
  if (in_root || IsFlat(kind)) directories.resize(1);
  if (in_root || (kind == FolderKind::kArrays && filled != directories.end()))
    return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      uri, ": found no ", AreAudio(kind) ? "audio" : ".npy", " file in it"));
}

// Moves the directories' contents into the parts of an index. Frees each
// directory after it was moved, so that few bytes are in memory twice.
absl::StatusOr<FolderIndexParts> Assemble(
    std::vector<ScannedDirectory> directories, base::WorkingMemory& memory) {
  FolderIndexParts parts;
  std::size_t records = 0;
  std::size_t names = 0;
  for (const ScannedDirectory& directory : directories) {
    records += directory.records.size();
    names += directory.path.size() + directory.names.size();
  }
  FOREBAY_ASSIGN_OR_RETURN(
      parts.reservation,
      memory.Keep(FolderIndex::Bytes(directories.size(), records, names)));
  parts.directories.reserve(directories.size());
  parts.records.reserve(records);
  parts.names.reserve(names);
  std::uint32_t classes = 0;
  for (ScannedDirectory& found : directories) {
    if (!found.path.empty() && found.path.find('/') == std::string::npos) {
      ++classes;
    }
    DirectoryRecord directory;
    directory.path_offset = parts.names.size();
    directory.path_length = static_cast<std::uint32_t>(found.path.size());
    directory.first_sample = parts.records.size();
    directory.version = found.version;
    if (!found.path.empty()) directory.label = classes - 1;
    parts.directories.push_back(directory);
    parts.names += found.path;
    parts.names += found.names;
    parts.records.insert(parts.records.end(), found.records.begin(),
                         found.records.end());
    found = {};
  }
  return parts;
}

}  // namespace

bool IsImage(std::string_view name) {
  return EndsInOneOf(name, kImageExtensions);
}

bool IsNpyFile(std::string_view name) {
  return EndsInOneOf(name, kArrayExtensions);
}

bool IsAudio(std::string_view name) {
  return EndsInOneOf(name, kAudioExtensions);
}

bool SampleLess(std::string_view a, std::string_view b) {
  const auto [directory_a, file_a] = Split(a);
  const auto [directory_b, file_b] = Split(b);
  return directory_a == directory_b ? PathLess(file_a, file_b)
                                    : DirectoryLess(directory_a, directory_b);
}

absl::StatusOr<bool> ObjectTree::Add(const storage::ListedObject& object) {
  const std::string_view name = object.name;
  const std::size_t slash = name.rfind('/');
  if (slash == name.npos && MayBeFlat(kind_)) return AddFile("", name, object);
  // An object directly in the root, or in a folder without a name, has no
  // class.
  if (slash == name.npos || name.front() == '/' || IsFlat(kind_)) return false;
  // Each folder directly below the root is a class, even if it has no samples.
  FOREBAY_RETURN_IF_ERROR(Directory(ClassOf(name)).status());
  return AddFile(name.substr(0, slash), name.substr(slash + 1), object);
}

absl::StatusOr<bool> ObjectTree::AddFile(std::string_view folder,
                                         std::string_view file,
                                         const storage::ListedObject& object) {
  if (!EndsInOneOf(file, ExtensionsOf(kind_))) return false;
  FOREBAY_ASSIGN_OR_RETURN(ScannedDirectory* const directory,
                           Directory(folder));
  const std::size_t offset = directory->names.size();
  if (file.size() > FolderFile::kLongestName) {
    return absl::InvalidArgumentError(
        absl::StrCat(object.name, ": the name after the last slash is longer ",
                     "than ", FolderFile::kLongestName, " bytes"));
  }
  if (offset + file.size() > UINT32_MAX) {
    return absl::ResourceExhaustedError(
        absl::StrCat(directory->path, ": the names in this folder take more ",
                     "than ", UINT32_MAX, " bytes"));
  }
  FOREBAY_RETURN_IF_ERROR(memory_.MakeRoom(directory->records, 1));
  FOREBAY_RETURN_IF_ERROR(memory_.MakeRoom(directory->names, file.size()));
  directory->records.emplace_back(static_cast<std::uint32_t>(offset),
                                  file.size(), object.version.size,
                                  object.version.stamp);
  directory->names += file;
  return true;
}

std::vector<ScannedDirectory> ObjectTree::Take() {
  std::vector<ScannedDirectory> directories(1);  // the root
  for (auto& [path, directory] : directories_) {
    if (path.empty()) {
      directories.front() = std::move(directory);
    } else {
      directories.push_back(std::move(directory));
    }
  }
  return directories;
}

absl::StatusOr<ScannedDirectory*> ObjectTree::Directory(std::string_view path) {
  const auto found = directories_.find(path);
  if (found != directories_.end()) return &found->second;
  FOREBAY_RETURN_IF_ERROR(
      memory_.Grow(2 * sizeof(ScannedDirectory) + sizeof(std::string) +
                   2 * base::HeapBytes(path.size()) + base::HeapBytes(0)));
  ScannedDirectory& directory = directories_[std::string(path)];
  directory.path = path;
  return &directory;
}

absl::StatusOr<std::shared_ptr<const FolderIndex>> BuildFolderIndex(
    std::vector<ScannedDirectory> directories, const std::string& uri,
    std::int64_t scanned_at_nanos, std::uint64_t link_context,
    base::WorkingMemory& memory, FolderKind kind) {
  SortByClass(directories);
  if (MayBeFlat(kind))
    FOREBAY_RETURN_IF_ERROR(ChooseFlat(uri, kind, directories));
  auto assembled = Assemble(std::move(directories), memory);
  if (!assembled.ok()) return base::Annotate(assembled.status(), uri);
  FolderIndexParts parts = *std::move(assembled);
  parts.scanned_at_nanos = scanned_at_nanos;
  parts.link_context = link_context;
  FOREBAY_ASSIGN_OR_RETURN(std::shared_ptr<const FolderIndex> index,
                           FolderIndex::Create(std::move(parts)));
  if (!index->is_flat())
    FOREBAY_RETURN_IF_ERROR(CheckClasses(*index, uri, kind));
  return index;
}

}  // namespace forebay::dataset::folder
