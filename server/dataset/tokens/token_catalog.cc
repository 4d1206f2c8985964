#include "server/dataset/tokens/token_catalog.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status.h"
#include "server/dataset/tokens/token_dataset.h"
#include "server/dataset/tokens/token_files.h"
#include "server/dataset/tokens/token_scan.h"

namespace forebay::dataset::tokens {
namespace {

// The most times that files are listed, if they change while their headers are
// read.
constexpr int kMaxTries = 3;

// Returns the key by which requests for equal datasets share an index.
std::string KeyOf(const TokenRequest& request) {
  const auto identity = request.root->identity();
  const std::string zero(1, '\0');
  return absl::StrCat(identity == nullptr ? request.root->uri() : *identity,
                      zero, request.settings.text(), zero,
                      absl::StrJoin(request.patterns, zero));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> TokenCatalog::Open(
    const TokenRequest& request, const Opening& opening) {
  FOREBAY_ASSIGN_OR_RETURN(
      IndexPtr index,
      search_.Find(
          KeyOf(request), request.root->uri(), opening,
          [&](const Search::Start& start, const std::stop_token& search) {
            return FindIndex(request, start.item, search);
          }));
  return std::make_shared<const TokenDataset>(std::move(index), request.root,
                                              budget_);
}

absl::StatusOr<TokenCatalog::IndexPtr> TokenCatalog::FindIndex(
    const TokenRequest& request, const IndexPtr& previous,
    const std::stop_token& stop) const {
  for (int tries = 1;; ++tries) {
    auto index = FindOnce(request, previous, stop);
    if (index.ok()) return index;
    // These errors mean that a file has changed between the listing and the
    // read.
    const bool changed = absl::IsFailedPrecondition(index.status()) ||
                         absl::IsAborted(index.status());
    if (!changed || tries == kMaxTries)
      return base::Annotate(index.status(), request.root->uri());
  }
}

absl::StatusOr<TokenCatalog::IndexPtr> TokenCatalog::FindOnce(
    const TokenRequest& request, const IndexPtr& previous,
    const std::stop_token& stop) const {
  base::WorkingMemory memory(budget_, "its list of files and their index");
  const auto list = [&](const std::vector<std::string>& patterns) {
    return request.list(patterns, memory, stop);
  };
  FOREBAY_ASSIGN_OR_RETURN(
      std::vector<TokenFile> files,
      ListTokenFiles(request.patterns, !request.settings.dtype.has_value(),
                     list, memory));
  if (previous != nullptr && previous->IsOf(files)) return previous;
  const TokenScan scan = {.source = request.source,
                          .root = request.root,
                          .settings = request.settings,
                          .files_at_once = request.files_at_once,
                          .stop = stop};
  return ScanTokens(scan, std::move(files), memory);
}

}  // namespace forebay::dataset::tokens
