#include "server/dataset/zip/zip_catalog.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status.h"
#include "server/dataset/folder/image_tree.h"
#include "server/dataset/object_scan.h"
#include "server/dataset/zip/zip_dataset.h"
#include "server/dataset/zip/zip_index_builder.h"
#include "server/dataset/zip/zip_parser.h"

namespace forebay::dataset::zip {
namespace {

// The most times that archives are listed and scanned, if they keep changing.
constexpr int kMaxTries = 3;
// The longest read of a directory, in bytes (ZipDirectory::wanted). All reads
// together take at most 1 / kReadsPart of the memory limit.
constexpr std::uint64_t kLongestRead = std::uint64_t{1} << 20;
constexpr std::uint64_t kReadsPart = 32;

// Returns a text that tells the datasets of different requests apart.
std::string NameOf(const ZipRequest& request) {
  const auto identity = request.root->identity();
  const std::string nul(1, '\0');
  return absl::StrCat(identity == nullptr ? request.root->uri() : *identity,
                      nul, request.folder, nul,
                      absl::StrJoin(request.patterns, nul),
                      request.are_audio ? nul + nul + "audio" : "");
}

// Returns the path of a folder in the archives, for people.
std::string PathOf(const ZipRequest& request, const std::string& folder) {
  std::string path = absl::StrCat(request.root->uri(), "/",
                                  absl::StrJoin(request.patterns, ", "));
  for (const std::string* const part : {&request.folder, &folder}) {
    if (!part->empty()) absl::StrAppend(&path, "/", *part);
  }
  return path;
}

// Adds a warning if the classes are probably one folder further down.
void WarnOfOneClass(const ZipRequest& request, const ZipIndex& index,
                    std::vector<std::string>* warnings) {
  const std::string folder = FolderOfClasses(index.images());
  if (folder.empty()) return;
  warnings->push_back(absl::StrCat(
      PathOf(request, ""),
      ": its images are all of one class, because they "
      "lie below one folder; if the folders in that are the classes, pass ",
      PathOf(request, folder)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> ZipCatalog::Open(
    const ZipRequest& request, std::vector<std::string>* warnings,
    const Opening& opening) {
  const std::string name = NameOf(request);
  FOREBAY_ASSIGN_OR_RETURN(
      IndexPtr index,
      search_.Find(name, PathOf(request, ""), opening,
                   [&](Search::Start start, const std::stop_token& search) {
                     return FindIndex(request, name, std::move(start.item),
                                      warnings, search);
                   }));
  if (index_cache_ != nullptr)
    index_cache_->Keep(absl::StrCat("zip ", name), index,
                       index->memory() + index->images().memory());
  WarnOfOneClass(request, *index, warnings);
  return std::make_shared<const ZipDataset>(std::move(index), request.root,
                                            request.are_audio, budget_);
}

absl::StatusOr<ZipCatalog::IndexPtr> ZipCatalog::FindIndex(
    const ZipRequest& request, const std::string& name, IndexPtr previous,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  for (int tries = 1;; ++tries) {
    auto index = FindOnce(request, name, previous, warnings, stop);
    if (index.ok()) return index;
    // These errors mean that an archive has changed between the listing and the
    // scan.
    const bool changed = absl::IsFailedPrecondition(index.status()) ||
                         absl::IsAborted(index.status());
    if (!changed || tries == kMaxTries) return index;
  }
}

absl::StatusOr<ZipCatalog::IndexPtr> ZipCatalog::FindOnce(
    const ZipRequest& request, const std::string& name, IndexPtr& previous,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  base::WorkingMemory memory(budget_, "its list of archives and their index");
  const auto archives = request.list(memory, stop);
  if (!archives.ok())
    return base::Annotate(archives.status(), request.root->uri());
  if (previous != nullptr && previous->IsOf(*archives)) return previous;
  previous.reset();
  if (IndexPtr saved = Load(request, name, *archives, warnings);
      saved != nullptr) {
    return saved;
  }
  FOREBAY_ASSIGN_OR_RETURN(IndexPtr index,
                           Scan(request, *archives, memory, stop));
  if (store_.has_value()) {
    if (const auto saved = store_->Save(name, *index); !saved.ok()) {
      warnings->push_back(absl::StrCat(
          PathOf(request, ""),
          ": its index is kept in memory only: ", saved.message()));
    }
  }
  return index;
}

absl::StatusOr<ZipCatalog::IndexPtr> ZipCatalog::Scan(
    const ZipRequest& request, const ZipRequest::Archives& archives,
    base::WorkingMemory& memory, const std::stop_token& stop) const {
  std::map<std::size_t, std::unique_ptr<ZipParser>> parsers;
  std::vector<ArchiveContents> contents;
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(contents, archives.size()));
  contents.resize(archives.size());
  // Each archive has one read in flight, of at most kLongestRead bytes.
  const std::uint64_t reads = budget_->limit() / kReadsPart / kLongestRead;
  ObjectScan scan{
      .source = request.source,
      .root = request.root,
      .objects = archives,
      .objects_at_once = std::min<std::size_t>(
          request.archives_at_once, std::max<std::uint64_t>(1, reads)),
      .uncached = true,
      .stop = stop,
      .begin = {},
      .end = {}};
  scan.begin = [&](std::size_t archive) -> absl::StatusOr<ObjectParser*> {
    auto& parser = parsers[archive];
    FOREBAY_ASSIGN_OR_RETURN(
        parser,
        ZipParser::Create(archives[archive], ZipParser::Keep::kFiles, &memory));
    return parser.get();
  };
  scan.end = [&](std::size_t archive) {
    const auto parser = parsers.find(archive);
    contents[archive] = parser->second->TakeContents();
    parsers.erase(parser);
    return absl::OkStatus();
  };
  if (const absl::Status scanned = ScanObjects(scan, memory); !scanned.ok())
    return base::Annotate(scanned, request.root->uri());
  return BuildZipIndex(PathOf(request, ""), request.folder, archives,
                       std::move(contents), memory,
                       request.are_audio ? folder::FolderKind::kClassAudio
                                         : folder::FolderKind::kImages);
}

// If loading fails, adds a warning, unless the index is missing or out of date.
ZipCatalog::IndexPtr ZipCatalog::Load(
    const ZipRequest& request, const std::string& name,
    const ZipRequest::Archives& archives,
    std::vector<std::string>* warnings) const {
  if (!store_.has_value()) return nullptr;
  auto index = store_->Load(name, archives);
  if (index.ok()) return *std::move(index);
  if (!absl::IsNotFound(index.status())) {
    warnings->push_back(
        absl::StrCat(PathOf(request, ""),
                     ": its index is built anew: ", index.status().message()));
  }
  return nullptr;
}

}  // namespace forebay::dataset::zip
