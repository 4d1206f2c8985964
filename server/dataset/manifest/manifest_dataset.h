#ifndef FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_DATASET_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_DATASET_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/dataset/manifest/manifest.h"

namespace forebay::dataset::manifest {

// The dataset of a manifest. Each row is a sample. Several datasets, each with
// its own root, may share a manifest. For threads, blocking and errors, see
// Dataset.
class ManifestDataset final : public Dataset {
 public:
  ManifestDataset(std::shared_ptr<const Manifest> manifest,
                  std::shared_ptr<const storage::Root> root)
      : manifest_(std::move(manifest)), root_(std::move(root)) {}

  std::uint64_t size() const override { return manifest_->size(); }
  const std::vector<Field>& fields() const override {
    return manifest_->fields();
  }
  Sample At(std::uint64_t id) const override { return manifest_->At(id); }
  void ValuesOf(std::uint64_t id,
                absl::Span<FieldValue> values) const override {
    manifest_->ValuesOf(id, values);
  }
  std::uint64_t largest_sample() const override {
    return manifest_->largest_file();
  }
  const std::vector<std::string>& classes() const override {
    return manifest_->classes();
  }
  const Version& version() const override { return manifest_->version(); }
  const std::shared_ptr<const storage::Root>& root() const override {
    return root_;
  }

  // Records that a row's file has changed; see Manifest::MarkStale.
  void MarkStale() const { manifest_->MarkStale(); }

 private:
  const std::shared_ptr<const Manifest> manifest_;
  const std::shared_ptr<const storage::Root> root_;
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_DATASET_H_
