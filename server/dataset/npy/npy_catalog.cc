#include "server/dataset/npy/npy_catalog.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/npy/npy_dataset.h"
#include "server/dataset/npy/npy_scan.h"

namespace forebay::dataset::npy {
namespace {

// Bounds the attempts at files that change while their headers are read. A
// writer that touches files all the time would otherwise hold up Open for ever.
constexpr int kMaxTries = 3;
// Datasets of fewer files have no index on disk: reading their headers again
// takes no longer than loading a saved index.
constexpr std::size_t kFewFiles = 64;

// Returns the key by which indexes are shared and saved. Roots with the same
// identity share keys. A zero byte separates the root from the request's name.
std::string KeyOf(const NpyRequest& request) {
  const auto identity = request.root->identity();
  return absl::StrCat(identity == nullptr ? request.root->uri() : *identity,
                      std::string(1, '\0'), request.name);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> NpyCatalog::Open(
    const NpyRequest& request, std::vector<std::string>* warnings,
    const Opening& opening) {
  const std::string key = KeyOf(request);
  FOREBAY_ASSIGN_OR_RETURN(
      IndexPtr index,
      search_.Find(
          key, request.root->uri(), opening,
          [&](const Search::Start& start, const std::stop_token& search) {
            return FindIndex(request, key, start.item, warnings, search);
          }));
  return std::make_shared<const NpyDataset>(std::move(index), request.root,
                                            budget_);
}

absl::StatusOr<NpyCatalog::IndexPtr> NpyCatalog::FindIndex(
    const NpyRequest& request, const std::string& key, const IndexPtr& previous,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  for (int tries = 1;; ++tries) {
    auto index = FindOnce(request, key, previous, warnings, stop);
    if (index.ok()) return index;
    // These errors mean that a file was replaced or touched between the listing
    // and the read.
    const bool changed = absl::IsFailedPrecondition(index.status()) ||
                         absl::IsAborted(index.status());
    if (!changed || tries == kMaxTries)
      return base::Annotate(index.status(), request.root->uri());
  }
}

absl::StatusOr<NpyCatalog::IndexPtr> NpyCatalog::FindOnce(
    const NpyRequest& request, const std::string& key, const IndexPtr& previous,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  base::WorkingMemory memory(budget_, "its list of files and their index");
  FOREBAY_ASSIGN_OR_RETURN(const Files files, request.list(memory, stop));
  if (previous != nullptr && previous->IsOf(files)) return previous;
  const bool is_kept = store_.has_value() && files.size() >= kFewFiles;
  if (is_kept) {
    if (IndexPtr kept = Load(request, key, files, warnings); kept != nullptr)
      return kept;
  }
  FOREBAY_ASSIGN_OR_RETURN(
      IndexPtr index,
      ScanNpyFiles(*request.source, request.root, files,
                   {.files_at_once = request.files_at_once, .stop = stop},
                   memory));
  if (!is_kept) return index;
  if (const auto saved = store_->Save(key, *index); !saved.ok()) {
    warnings->push_back(
        absl::StrCat(request.root->uri(),
                     ": its index is kept in memory only: ", saved.message()));
  }
  return index;
}

// Returns the saved index. Returns null if no index of exactly these files in
// these versions is saved. A damaged index gives a warning, and the scan
// replaces it.
NpyCatalog::IndexPtr NpyCatalog::Load(
    const NpyRequest& request, const std::string& key, const Files& files,
    std::vector<std::string>* warnings) const {
  auto index = store_->Load(key, files);
  if (index.ok()) return *std::move(index);
  if (!absl::IsNotFound(index.status())) {
    warnings->push_back(
        absl::StrCat(request.root->uri(),
                     ": its index is built anew: ", index.status().message()));
  }
  return nullptr;
}

}  // namespace forebay::dataset::npy
