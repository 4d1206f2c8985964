#ifndef FOREBAY_SERVER_STORAGE_PAID_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_PAID_SOURCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {

// A source that charges all its reads to the same jobs, whichever jobs the
// requests name. At first the job that it was made for pays, until SetPayers
// names others.
//
// Thread-safe. The user owns the source. Reads in flight may outlive it, and
// the source below outlives these reads. No call blocks. Errors are those of
// the source below.
class PaidSource final : public ByteSource {
 public:
  // The jobs that pay, in equal parts: at least one, and each of them once.
  using Payers = std::shared_ptr<const std::vector<std::uint64_t>>;

  PaidSource(ByteSource* below, std::uint64_t job);

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override {
    below_->Share(ticket, purpose);
  }

  // Returns the job that the source was made for.
  std::uint64_t job() const { return job_; }
  Payers payers() const;
  // Makes `jobs` pay for all later reads. Jobs that are new among the payers
  // also join the reads in flight. Ignores an empty list.
  void SetPayers(const std::vector<std::uint64_t>& jobs);

 private:
  class InFlight;

  ByteSource* const below_;
  const std::uint64_t job_;
  const std::shared_ptr<InFlight> in_flight_;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_PAID_SOURCE_H_
