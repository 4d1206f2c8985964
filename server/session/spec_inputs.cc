#include "server/session/spec_inputs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/spec_contents.h"
#include "server/storage/local/local_root.h"

namespace forebay::session {
namespace {

using dataset::composed::DatasetInputs;

// The limits that proto/dataset.proto documents, and a limit of all datasets of
// a tree together.
constexpr std::uint32_t kMaxExtraRoots = 8;
constexpr std::size_t kMaxName = 4096;
constexpr std::size_t kMaxParts = 128;  // of one dataset
constexpr int kMaxDepth = 8;
constexpr int kMaxDatasets = 1024;  // in all

// Returns the root of a local dataset. The first descriptor is that of its
// folder. The descriptors of its extra roots follow, as many as the spec says.
absl::StatusOr<std::shared_ptr<const storage::Root>> LocalRootFrom(
    const proto::DatasetSpec& spec, absl::Span<base::Fd> fds) {
  if (spec.extra_roots() > kMaxExtraRoots ||
      static_cast<std::uint32_t>(spec.extra_root_paths_size()) !=
          spec.extra_roots() ||
      fds.size() != 1 + spec.extra_roots()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a dataset comes with its root's descriptor and at most ",
                     kMaxExtraRoots, " extra roots, each with its path"));
  }
  std::vector<storage::local::ExtraRoot> extra_roots;
  for (std::uint32_t i = 0; i < spec.extra_roots(); ++i) {
    extra_roots.push_back(
        {std::move(fds[i + 1]), spec.extra_root_paths(static_cast<int>(i))});
  }
  return storage::local::LocalRoot::Create(std::move(fds[0]), spec.uri(),
                                           std::move(extra_roots));
}

// Checks the lengths of the names that live as long as the dataset does.
absl::Status CheckNames(const proto::DatasetSpec& spec) {
  const auto is_long = [](const std::string& name) {
    return name.size() > kMaxName;
  };
  if (is_long(spec.uri())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a dataset's URI has at most ", kMaxName, " bytes"));
  }
  const auto& columns = spec.manifest().columns();
  const auto& fields = dataset::TypedFieldsOf(spec);
  if (is_long(spec.manifest().path()) ||
      std::any_of(
          columns.begin(), columns.end(),
          [&](const auto& column) { return is_long(column.column()); }) ||
      std::any_of(fields.begin(), fields.end(),
                  [&](const auto& field) { return is_long(field.type()); }) ||
      std::any_of(spec.extra_root_paths().begin(),
                  spec.extra_root_paths().end(), is_long)) {
    return absl::InvalidArgumentError(absl::StrCat(
        spec.uri(), ": a path or column has at most ", kMaxName, " bytes"));
  }
  return absl::OkStatus();
}

// Walks through the tree of a dataset's parts, and gives each its descriptors.
// A part's descriptors are consecutive: first those of its own parts in order,
// then the descriptor of its memory.
class Distributor {
 public:
  Distributor(storage::RootOpener* remote, const std::stop_token& stop)
      : remote_(remote), stop_(stop) {}

  // Returns the inputs of a dataset, which is `depth` levels below the whole
  // dataset. `fds` are its descriptors.
  absl::StatusOr<DatasetInputs> Take(const proto::DatasetSpec& spec,
                                     absl::Span<base::Fd> fds, int depth) {
    const std::vector<const proto::DatasetSpec*> parts = dataset::PartsOf(spec);
    if (depth > kMaxDepth || parts.size() > kMaxParts ||
        ++datasets_ > kMaxDatasets) {
      return absl::InvalidArgumentError(
          absl::StrCat("a dataset is made of at most ", kMaxParts, " others, ",
                       kMaxDepth, " deep, and ", kMaxDatasets, " in all"));
    }
    FOREBAY_RETURN_IF_ERROR(CheckNames(spec));
    DatasetInputs inputs;
    if (HasMemory(spec)) {
      if (fds.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat(spec.uri(), ": its memory did not come"));
      }
      inputs.memory = std::move(fds.back());
      fds.remove_suffix(1);
    }
    if (dataset::HasRoot(spec)) {
      FOREBAY_ASSIGN_OR_RETURN(inputs.root, OpenRoot(spec, fds));
    } else {
      FOREBAY_ASSIGN_OR_RETURN(inputs.parts, TakeParts(parts, fds, depth));
    }
    return inputs;
  }

 private:
  // Returns the inputs of a dataset's parts. Each part's spec says how many of
  // the descriptors belong to the part. All descriptors must be used up.
  absl::StatusOr<std::vector<DatasetInputs>> TakeParts(
      const std::vector<const proto::DatasetSpec*>& specs,
      absl::Span<base::Fd> fds, int depth) {
    std::vector<DatasetInputs> parts;
    for (const proto::DatasetSpec* const part : specs) {
      if (part->descriptors() > fds.size()) {
        return absl::InvalidArgumentError(
            "descriptors of a part of the dataset did not come");
      }
      FOREBAY_ASSIGN_OR_RETURN(
          DatasetInputs taken,
          Take(*part, fds.first(part->descriptors()), depth + 1));
      parts.push_back(std::move(taken));
      fds.remove_prefix(part->descriptors());
    }
    if (!fds.empty()) {
      return absl::InvalidArgumentError(
          "more descriptors came than the dataset's parts have");
    }
    return parts;
  }

  // Returns the root of a dataset. The root is local if descriptors came with
  // the dataset, or if its URI is not remote.
  absl::StatusOr<std::shared_ptr<const storage::Root>> OpenRoot(
      const proto::DatasetSpec& spec, absl::Span<base::Fd> fds) {
    const std::string& uri = spec.uri();
    if (!fds.empty() || !storage::IsRemoteUri(uri))
      return LocalRootFrom(spec, fds);
    if (spec.extra_roots() != 0 || spec.extra_root_paths_size() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          uri, ": extra roots are for links in folders; here there are none"));
    }
    return remote_->Open(uri, stop_);
  }

  storage::RootOpener* const remote_;
  const std::stop_token& stop_;
  int datasets_ = 0;
};

}  // namespace

bool HasMemory(const proto::DatasetSpec& spec) {
  return spec.has_subset() || spec.has_arrays() ||
         (spec.has_manifest() && spec.manifest().path().empty());
}

absl::StatusOr<DatasetInputs> TakeDatasetInputs(const proto::DatasetSpec& spec,
                                                absl::Span<base::Fd> fds,
                                                storage::RootOpener* remote,
                                                const std::stop_token& stop) {
  return Distributor(remote, stop).Take(spec, fds, 0);
}

}  // namespace forebay::session
