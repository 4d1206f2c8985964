#ifndef FOREBAY_TESTS_CONFORMANCE_STORAGE_BYTE_SOURCE_CONFORMANCE_H_
#define FOREBAY_TESTS_CONFORMANCE_STORAGE_BYTE_SOURCE_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <string>

#include "server/storage/byte_source.h"
#include "tests/catch/suite.h"

namespace forebay::storage {

// Gives the suite a source under test, and a place to put objects.
class ByteSourceHarness {
 public:
  virtual ~ByteSourceHarness() = default;

  virtual ByteSource& source() = 0;
  virtual void DestroySource() = 0;
  virtual std::shared_ptr<const Root> root() = 0;

  // Creates or replaces an object. Its version differs from all earlier ones.
  virtual ObjectVersion Put(const std::string& object,
                            const std::string& content) = 0;
  virtual void Remove(const std::string& object) = 0;
};

// The contract of ByteSource, as tests. Every source is a subject of the suite:
// const tests::RunsOn<ByteSourceConformance> kName({{"name", &MakeHarness}});
class ByteSourceConformance {
 public:
  using Subject = std::function<std::unique_ptr<ByteSourceHarness>()>;

  explicit ByteSourceConformance(const Subject& make) : harness_(make()) {}

 protected:
  ReadRequest Request(const std::string& object, ObjectVersion version) {
    ReadRequest request;
    request.root = harness_->root();
    request.object = object;
    request.version = version;
    request.length = version.size;
    return request;
  }

  // Starts a read, and blocks until the result is there.
  absl::StatusOr<ReadResult> Read(ReadRequest request);

  // Returns the code of a read that must fail with a message that names the
  // object.
  absl::StatusCode ErrorOf(ReadRequest request);

  const std::unique_ptr<ByteSourceHarness> harness_;
};

}  // namespace forebay::storage

#endif  // FOREBAY_TESTS_CONFORMANCE_STORAGE_BYTE_SOURCE_CONFORMANCE_H_
