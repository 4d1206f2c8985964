// A search first stats the manifest's own file. A manifest in memory is shared
// if its own file is the same, and no read or stat has found another version of
// a row's file. Otherwise the manifest's file is read whole, and the version of
// each row's file is found by stat.
//
// Before a manifest is shared, only some files are checked by stat: to check
// all of them would take as long as to read the manifest again. A change of
// another file is found when that file is read: the source then fails, and the
// manifest is marked stale.
#include "server/dataset/manifest/manifest_catalog.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/base/status.h"
#include "server/dataset/manifest/manifest_dataset.h"
#include "server/dataset/version_digest.h"
#include "server/storage/read_now.h"

namespace forebay::dataset::manifest {
namespace {

// The most bytes of a manifest's file, which is in memory as a whole.
constexpr std::uint64_t kLargestFile = std::uint64_t{4} << 30;

// The most attempts to read a manifest that changes meanwhile.
constexpr int kMaxTries = 3;

// The purpose of the memory, as named in errors of the budget.
constexpr char kMemory[] = "what the table comes to";

// Returns the manifest's name in messages.
std::string NameOf(const ManifestRequest& request) {
  return request.table.has_value() ? "the table" : request.path;
}

absl::Status CheckSize(const ManifestRequest& request, std::uint64_t bytes) {
  if (bytes <= kLargestFile) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(NameOf(request), ": has ", bytes,
                   " bytes; a manifest has at most ", kLargestFile));
}

// Stats up to max_stats files, evenly spread. Returns the path of a file that
// has changed, or "" if all are unchanged. Ignores files whose stat fails:
// reading them will report the error.
std::string FindEdited(const ManifestRequest& request, const StatFunction& stat,
                       const Manifest& manifest, const std::stop_token& stop) {
  if (request.max_stats == 0) return "";
  const std::uint64_t step = std::max<std::uint64_t>(
      (manifest.size() + request.max_stats - 1) / request.max_stats, 1);
  for (std::uint64_t row = 0; row < manifest.size() && !stop.stop_requested();
       row += step) {
    const Sample sample = manifest.At(row);
    const auto now = stat(sample.object);
    if (now.ok() && (now->size != sample.version.size ||
                     now->stamp != sample.version.stamp))
      return sample.object;
  }
  return "";
}

// Returns the key of a request. Requests with equal keys share a manifest: they
// have the same file and the same fields. The key of a table in memory has the
// table's digest.
std::string KeyOf(const ManifestRequest& request) {
  const std::string end(1, '\0');
  const auto identity = request.root->identity();
  std::string key = absl::StrCat(
      identity == nullptr ? request.root->uri() : *identity, end, request.path);
  if (request.table.has_value()) {
    const Version digest = VersionDigest("table").Add(*request.table).Get();
    key.append(digest.begin(), digest.end());
  }
  for (std::size_t i = 0; i < request.fields.fields.size(); ++i) {
    absl::StrAppend(&key, end, request.fields.fields[i], end,
                    i < request.fields.columns.size()
                        ? request.fields.columns[i]
                        : std::string());
  }
  return key;
}

// Whether the name of a file means JSON lines. NVIDIA NeMo's manifests of JSON
// lines are named *.json.
bool HasJsonLines(const std::string& path) {
  return absl::EndsWithIgnoreCase(path, ".jsonl") ||
         absl::EndsWithIgnoreCase(path, ".ndjson") ||
         absl::EndsWithIgnoreCase(path, ".json");
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> ManifestCatalog::Open(
    const ManifestRequest& request, std::vector<std::string>* warnings,
    const Opening& opening) {
  FOREBAY_ASSIGN_OR_RETURN(
      ManifestPtr found,
      search_.Find(
          KeyOf(request), request.root->uri(), opening,
          [&](const Search::Start& start,
              const std::stop_token& search) -> absl::StatusOr<ManifestPtr> {
            auto manifest = Find(request, start.item, warnings, search);
            if (manifest.ok()) return manifest;
            return base::Annotate(manifest.status(), request.root->uri());
          }));
  if (found->has_numeric_classes()) {
    warnings->push_back(absl::StrCat(
        request.root->uri(), ": ", NameOf(request),
        ": all names of classes are numbers; a label is a name's place in "
        "their order as texts, not the number"));
  }
  return std::make_shared<const ManifestDataset>(std::move(found),
                                                 request.root);
}

absl::StatusOr<ManifestCatalog::ManifestPtr> ManifestCatalog::Find(
    const ManifestRequest& request, const ManifestPtr& previous,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  const StatFunction stat = request.stat_until(stop);
  for (int tries = 1;; ++tries) {
    storage::ObjectVersion version;
    if (request.table.has_value()) {
      version.size = request.table->size();
    } else {
      FOREBAY_ASSIGN_OR_RETURN(version, stat(request.path));
    }
    if (previous != nullptr && previous->file() == version &&
        !previous->stale()) {
      const std::string edited = FindEdited(request, stat, *previous, stop);
      if (edited.empty()) return previous;
      warnings->push_back(absl::StrCat(
          request.root->uri(), ": ", edited,
          " was changed in its place: ", NameOf(request), " is read anew"));
    }
    FOREBAY_RETURN_IF_ERROR(CheckSize(request, version.size));
    if (request.table.has_value()) {
      base::WorkingMemory memory(budget_, kMemory);
      return ReadTable(request, stat, *request.table, version, memory, stop);
    }
    auto manifest = ReadFile(request, stat, version, stop);
    // This error means that the manifest was written between its stat and its
    // read.
    const bool changed = absl::IsFailedPrecondition(manifest.status());
    if (!changed || tries == kMaxTries) return manifest;
  }
}

absl::StatusOr<ManifestCatalog::ManifestPtr> ManifestCatalog::ReadFile(
    const ManifestRequest& request, const StatFunction& stat,
    storage::ObjectVersion version, const std::stop_token& stop) const {
  base::WorkingMemory memory(budget_, kMemory);
  const absl::Status counted = memory.Grow(storage::HeldBytes(version.size));
  if (!counted.ok()) return base::Annotate(counted, request.path);
  storage::ReadRequest read;
  read.root = request.root;
  read.object = request.path;
  // The request does not name a revision. The manifest has the revision that
  // the read finds.
  read.version = {version.size, version.stamp};
  read.length = version.size;
  FOREBAY_ASSIGN_OR_RETURN(
      const storage::ReadResult table,
      storage::ReadNow(*request.source, std::move(read), stop));
  version.revision = table.revision;
  return ReadTable(
      request, stat,
      std::string_view(reinterpret_cast<const char*>(table.bytes.data()),
                       table.bytes.size()),
      version, memory, stop);
}

absl::StatusOr<ManifestCatalog::ManifestPtr> ManifestCatalog::ReadTable(
    const ManifestRequest& request, const StatFunction& stat,
    std::string_view table, const storage::ObjectVersion& version,
    base::WorkingMemory& memory, const std::stop_token& stop) const {
  ManifestOptions options;
  options.format =
      HasJsonLines(request.path) ? TableFormat::kJsonLines : TableFormat::kCsv;
  options.file = version;
  options.root = request.absolute_root;
  options.find_root = request.find_root;
  options.folder = request.path.substr(0, request.path.rfind('/') + 1);
  options.threads = request.threads;
  options.stop = stop;
  options.memory = &memory;
  auto manifest = Manifest::Read(table, request.fields, options, stat);
  if (!manifest.ok()) return base::Annotate(manifest.status(), NameOf(request));
  return manifest;
}

}  // namespace forebay::dataset::manifest
