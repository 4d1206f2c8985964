#include "server/dataset/npz/npz_catalog.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status.h"
#include "server/dataset/npz/npz_rows.h"

namespace forebay::dataset::npz {
namespace {

using Files = std::vector<storage::ListedObject>;

// Bounds the attempts at files that change while they are read. A writer that
// touches files all the time would otherwise hold up Open for ever.
constexpr int kMaxTries = 3;

// Returns the key by which datasets are shared. Zero bytes separate the parts
// of the key. Two zero bytes precede the arrays, so that the request's name
// cannot be mistaken for an array.
std::string KeyOf(const NpzRequest& request) {
  const auto identity = request.root->identity();
  const std::string zero(1, '\0');
  return absl::StrCat(identity == nullptr ? request.root->uri() : *identity,
                      zero, request.name, zero, zero,
                      absl::StrJoin(request.arrays, zero));
}

// Returns the memory that a list of files takes, in bytes.
std::uint64_t BytesOf(const Files& files) {
  std::uint64_t bytes = files.capacity() * sizeof(files[0]);
  for (const storage::ListedObject& file : files)
    bytes += base::HeapBytes(file.name.size());
  return bytes;
}

bool AreSame(const Files& one, const Files& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const auto& a, const auto& b) {
                      return a.name == b.name && a.version == b.version;
                    });
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> NpzCatalog::Open(
    const NpzRequest& request, std::vector<std::string>* warnings,
    const Opening& opening) {
  FOREBAY_ASSIGN_OR_RETURN(
      const RowsPtr rows,
      search_.Find(
          KeyOf(request), request.root->uri(), opening,
          [&](const Search::Start& start, const std::stop_token& search) {
            return FindRows(request, start.item, warnings, search);
          }));
  // The returned pointer shares the ownership of `rows`, which has the dataset.
  return std::shared_ptr<const Dataset>(rows, rows->dataset.get());
}

absl::StatusOr<NpzCatalog::RowsPtr> NpzCatalog::FindRows(
    const NpzRequest& request, const RowsPtr& previous,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  for (int tries = 1;; ++tries) {
    auto rows = FindOnce(request, previous, warnings, stop);
    if (rows.ok()) return rows;
    // These errors mean that a file was replaced or touched between the listing
    // and the read.
    const bool changed = absl::IsFailedPrecondition(rows.status()) ||
                         absl::IsAborted(rows.status());
    if (!changed || tries == kMaxTries) return rows;
  }
}

absl::StatusOr<NpzCatalog::RowsPtr> NpzCatalog::FindOnce(
    const NpzRequest& request, const RowsPtr& previous,
    std::vector<std::string>* warnings, const std::stop_token& stop) const {
  base::WorkingMemory memory(budget_, "its list of files");
  Rows rows;
  auto listed = request.list(memory, stop);
  if (!listed.ok()) return base::Annotate(listed.status(), request.root->uri());
  rows.files = *std::move(listed);
  if (previous != nullptr && AreSame(previous->files, rows.files))
    return previous;
  auto kept = memory.Keep(BytesOf(rows.files));
  absl::Status status = kept.status();
  if (rows.files.empty()) status = absl::NotFoundError("no file was named");
  if (!status.ok()) return base::Annotate(status, request.root->uri());
  rows.reservation = *std::move(kept);
  const NpzRowsSource source = {.root = request.root,
                                .names = request.arrays,
                                .source = request.source,
                                .budget = budget_,
                                .stop = stop};
  FOREBAY_ASSIGN_OR_RETURN(rows.dataset,
                           LoadNpzRows(source, rows.files, warnings));
  return std::make_shared<const Rows>(std::move(rows));
}

}  // namespace forebay::dataset::npz
