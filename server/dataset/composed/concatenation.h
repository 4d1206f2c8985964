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

// Several datasets with equal fields, concatenated. A sample keeps the label
// that it has in its part. The concatenation has classes only if all parts have
// equal classes.
//
// For threads, blocking and errors, see Dataset. Shares the parts.
class Concatenation final : public Dataset {
 public:
  // Concatenates `parts`. INVALID_ARGUMENT: there are no parts; a part has
  // other fields than the first part; or there are 2^64 samples or more. The
  // last two errors name the part.
  static absl::StatusOr<std::shared_ptr<const Dataset>> Create(
      std::vector<std::shared_ptr<const Dataset>> parts);

  std::uint64_t size() const override { return ends_.back(); }
  const std::vector<Field>& fields() const override { return fields_; }
  Sample At(std::uint64_t id) const override;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const override;
  bool is_self_describing() const override;
  absl::Status ReadValues(std::uint64_t id, absl::Span<const std::uint8_t> read,
                          absl::Span<FieldValue> values,
                          ValueBuffers* buffers) const override;
  void MostBytesOf(std::uint64_t id,
                   absl::Span<std::uint64_t> bytes) const override;
  bool shares_extents() const override;
  std::uint64_t SizeOf(std::uint64_t id) const override;
  absl::StatusOr<absl::Span<const std::uint8_t>> Decompress(
      std::uint64_t id, absl::Span<const std::uint8_t> compressed,
      DecompressionRoom room) const override;
  std::string NameOf(std::uint64_t id) const override;
  std::uint64_t largest_sample() const override { return largest_sample_; }
  const std::vector<std::string>& classes() const override { return *classes_; }
  // Returns a digest of the parts' versions.
  const Version& version() const override { return version_; }
  const std::shared_ptr<const storage::Root>& root() const override {
    return parts_.front()->root();
  }
  // Returns the URIs of the first parts, and the number of further parts.
  std::string uri() const override;

  std::vector<const Dataset*> sources() const override;
  SourceSample SourceSampleOf(std::uint64_t id) const override;
  void FindSamples(const SourceSample& sample,
                   std::vector<std::uint64_t>* ids) const override;

 private:
  // A sample, identified by its part and its number in that part.
  struct SampleInPart {
    std::size_t part = 0;
    std::uint64_t id = 0;
  };

  explicit Concatenation(std::vector<std::shared_ptr<const Dataset>> parts);

  // Returns the part of sample `id`, and the sample's number in that part.
  SampleInPart Locate(std::uint64_t id) const;
  // Returns the number of the part's first sample.
  std::uint64_t BeginOf(std::size_t part) const {
    return part == 0 ? 0 : ends_[part - 1];
  }

  const std::vector<std::shared_ptr<const Dataset>> parts_;
  // For each part, the number of its last sample, plus 1.
  std::vector<std::uint64_t> ends_;
  // For each part, the index of its first source in sources().
  std::vector<std::size_t> first_sources_;
  std::vector<Field> fields_;
  std::uint64_t largest_sample_ = 0;
  // The classes of all parts, or an empty list if the parts have different
  // ones.
  const std::vector<std::string>* classes_;
  Version version_;
};

}  // namespace forebay::dataset::composed

#endif  // FOREBAY_SERVER_DATASET_COMPOSED_CONCATENATION_H_
