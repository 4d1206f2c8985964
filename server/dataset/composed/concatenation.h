#ifndef FOREBAY_SERVER_DATASET_COMPOSED_CONCATENATION_H_
#define FOREBAY_SERVER_DATASET_COMPOSED_CONCATENATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset::composed {

// Several datasets with equal fields, one after the other. Labels are the
// parts' own. It has classes only if those of all parts are equal. As Dataset
// says; shares the parts.
class Concatenation final : public Dataset {
 public:
  // INVALID_ARGUMENT: there are no parts; or, naming the part, their fields
  // differ, or their samples are 2^64 or more.
  static absl::StatusOr<std::shared_ptr<const Dataset>> Create(
      std::vector<std::shared_ptr<const Dataset>> parts);

  std::uint64_t size() const override { return ends_.back(); }
  const std::vector<Field>& fields() const override { return fields_; }
  Sample At(std::uint64_t id) const override;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const override;
  bool is_self_describing() const override;
  absl::Status ReadValues(std::uint64_t id, absl::Span<const std::uint8_t> read,
                          absl::Span<FieldValue> values,
                          MadeValues* made) const override;
  void MostBytesOf(std::uint64_t id,
                   absl::Span<std::uint64_t> bytes) const override;
  bool shares_extents() const override;
  std::uint64_t SizeOf(std::uint64_t id) const override;
  absl::StatusOr<absl::Span<const std::uint8_t>> Unpack(
      std::uint64_t id, absl::Span<const std::uint8_t> packed,
      UnpackRoom room) const override;
  std::string NameOf(std::uint64_t id) const override;
  std::uint64_t largest_sample() const override { return largest_sample_; }
  const std::vector<std::string>& classes() const override { return *classes_; }
  // A digest of the parts' versions.
  const Version& version() const override { return version_; }
  const std::shared_ptr<const storage::Root>& root() const override {
    return parts_.front()->root();
  }
  // Names some of the parts.
  std::string uri() const override;

  std::vector<const Dataset*> sources() const override;
  SourceSample SourceSampleOf(std::uint64_t id) const override;
  void FindSamples(const SourceSample& sample,
                   std::vector<std::uint64_t>* ids) const override;

 private:
  // A sample by its part and its number there.
  struct SampleInPart {
    std::size_t part = 0;
    std::uint64_t id = 0;
  };

  explicit Concatenation(std::vector<std::shared_ptr<const Dataset>> parts);

  SampleInPart Locate(std::uint64_t id) const;
  // The number of the part's first sample.
  std::uint64_t BeginOf(std::size_t part) const {
    return part == 0 ? 0 : ends_[part - 1];
  }

  const std::vector<std::shared_ptr<const Dataset>> parts_;
  std::vector<std::uint64_t> ends_;         // samples up to each part's end
  std::vector<std::size_t> first_sources_;  // each part's first, among all
  std::vector<Field> fields_;
  std::uint64_t largest_sample_ = 0;
  const std::vector<std::string>* classes_;  // a part's, or an empty list
  Version version_;
};

}  // namespace forebay::dataset::composed

#endif  // FOREBAY_SERVER_DATASET_COMPOSED_CONCATENATION_H_
