#include "server/dataset/npy/npy_catalog.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/npy/npy_dataset.h"
#include "server/dataset/npy/npy_scan.h"

namespace forebay::dataset::npy {
namespace {

// Files that change while their headers are read are listed so often.
constexpr int kMaxTries = 3;

std::string KeyOf(const NpyRequest& request) {
  const auto identity = request.root->identity();
  return absl::StrCat(identity == nullptr ? request.root->uri() : *identity,
                      std::string(1, '\0'), request.name);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> NpyCatalog::Open(
    const NpyRequest& request, const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(
      IndexPtr index,
      search_.Find(
          KeyOf(request), request.root->uri(), stop,
          [&](const Search::Known& known, const std::stop_token& search) {
            return FindIndex(request, known.item, search);
          }));
  return std::make_shared<const NpyDataset>(std::move(index), request.root,
                                            budget_);
}

absl::StatusOr<NpyCatalog::IndexPtr> NpyCatalog::FindIndex(
    const NpyRequest& request, const IndexPtr& known,
    const std::stop_token& stop) const {
  for (int tries = 1;; ++tries) {
    auto index = FindOnce(request, known, stop);
    if (index.ok()) return index;
    // A file was replaced or touched between the list and the read.
    const bool changed = absl::IsFailedPrecondition(index.status()) ||
                         absl::IsAborted(index.status());
    if (!changed || tries == kMaxTries)
      return base::Annotate(index.status(), request.root->uri());
  }
}

absl::StatusOr<NpyCatalog::IndexPtr> NpyCatalog::FindOnce(
    const NpyRequest& request, const IndexPtr& known,
    const std::stop_token& stop) const {
  base::WorkingMemory memory(budget_, "its list of files and their index");
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<storage::ListedObject> files,
                           request.list(memory, stop));
  if (known != nullptr && known->IsOf(files)) return known;
  return ScanNpyFiles(*request.source, request.root, files,
                      {.files_at_once = request.files_at_once, .stop = stop},
                      memory);
}

}  // namespace forebay::dataset::npy
