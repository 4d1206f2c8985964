#ifndef FOREBAY_SERVER_DATASET_COMPOSED_SUBSET_H_
#define FOREBAY_SERVER_DATASET_COMPOSED_SUBSET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/index_list.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset::composed {

// Some samples of another dataset, which is called the whole. A list has the
// numbers of these samples in the whole, in the subset's order. If a number is
// in the list several times, the subset has that sample several times. In the
// subset, a sample's number is its position in the list.
//
// For threads, blocking and errors, see Dataset. Shares the whole and the list.
class Subset final : public Dataset {
 public:
  // All numbers in `list` are less than the size of `whole`.
  Subset(std::shared_ptr<const Dataset> whole,
         std::shared_ptr<const base::IndexList> list);

  std::uint64_t size() const override { return list_->size(); }
  const std::vector<Field>& fields() const override { return whole_->fields(); }
  Sample At(std::uint64_t id) const override {
    return whole_->At(list_->At(id));
  }
  void ValuesOf(std::uint64_t id,
                absl::Span<FieldValue> values) const override {
    whole_->ValuesOf(list_->At(id), values);
  }
  bool is_self_describing() const override {
    return whole_->is_self_describing();
  }
  absl::Status ReadValues(std::uint64_t id, absl::Span<const std::uint8_t> read,
                          absl::Span<FieldValue> values,
                          ValueBuffers* buffers) const override {
    return whole_->ReadValues(list_->At(id), read, values, buffers);
  }
  void MostBytesOf(std::uint64_t id,
                   absl::Span<std::uint64_t> bytes) const override {
    whole_->MostBytesOf(list_->At(id), bytes);
  }
  bool shares_extents() const override { return whole_->shares_extents(); }
  std::uint64_t SizeOf(std::uint64_t id) const override {
    return whole_->SizeOf(list_->At(id));
  }
  absl::StatusOr<absl::Span<const std::uint8_t>> Decompress(
      std::uint64_t id, absl::Span<const std::uint8_t> compressed,
      DecompressionRoom room) const override {
    return whole_->Decompress(list_->At(id), compressed, room);
  }
  std::string NameOf(std::uint64_t id) const override {
    return whole_->NameOf(list_->At(id));
  }
  std::uint64_t largest_sample() const override { return largest_sample_; }
  const std::vector<std::string>& classes() const override {
    return whole_->classes();
  }
  // Returns a digest of the whole's version and the list.
  const Version& version() const override { return version_; }
  const std::shared_ptr<const storage::Root>& root() const override {
    return whole_->root();
  }
  std::string uri() const override { return whole_->uri(); }

  std::vector<const Dataset*> sources() const override {
    return whole_->sources();
  }
  SourceSample SourceSampleOf(std::uint64_t id) const override {
    return whole_->SourceSampleOf(list_->At(id));
  }
  void FindSamples(const SourceSample& sample,
                   std::vector<std::uint64_t>* ids) const override;

 private:
  const std::shared_ptr<const Dataset> whole_;
  const std::shared_ptr<const base::IndexList> list_;
  const Version version_;
  const std::uint64_t largest_sample_;
};

}  // namespace forebay::dataset::composed

#endif  // FOREBAY_SERVER_DATASET_COMPOSED_SUBSET_H_
