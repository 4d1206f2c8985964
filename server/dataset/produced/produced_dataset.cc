#include "server/dataset/produced/produced_dataset.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/dataset.pb.h"
#include "proto/worker_socket.h"
#include "server/base/status.h"
#include "server/storage/memory/memory_root.h"

namespace forebay::dataset::produced {

absl::StatusOr<std::shared_ptr<const Dataset>> ProducedDataset::Create(
    const proto::DatasetSpec& spec) {
  const proto::Produced& produced = spec.produced();
  auto layout = memory::MemoryRecordLayout::Create(
      produced.fields(), produced.samples(), produced.host_fields());
  if (!layout.ok()) return base::Annotate(layout.status(), spec.uri());
  Version version;
  if (produced.identity().size() != version.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.uri(), ": an identity has ", version.size(),
                     " bytes, not ", produced.identity().size()));
  }
  if (produced.affinity_workers() > proto::kMaxWorkers) {
    return absl::InvalidArgumentError(absl::StrCat(
        spec.uri(), ": samples have affinity to at most ", proto::kMaxWorkers,
        " workers, not to ", produced.affinity_workers()));
  }
  // Samples of a live dataset can be made only once and in order. Therefore one
  // worker has to make all of them.
  if (produced.live() && produced.affinity_workers() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        spec.uri(), ": a live dataset has affinity to one worker, not to ",
        produced.affinity_workers()));
  }
  if (produced.host_fields() > layout->fields().size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        spec.uri(), ": ", produced.host_fields(), " of ",
        layout->fields().size(), " fields cannot lie on the host"));
  }
  for (const proto::ArrayField& field : produced.fields()) {
    if (field.kind() != proto::ArrayField::ARRAY) {
      return absl::InvalidArgumentError(absl::StrCat(
          spec.uri(), ": ", field.name(), ": workers make arrays alone"));
    }
  }
  // The version is the identity that the client sent, because the daemon cannot
  // see what the user's code does.
  std::copy(produced.identity().begin(), produced.identity().end(),
            version.begin());
  return std::shared_ptr<const Dataset>(
      new ProducedDataset(*std::move(layout), version, spec.uri(),
                          produced.affinity_workers(), produced.live()));
}

ProducedDataset::ProducedDataset(memory::MemoryRecordLayout layout,
                                 const Version& version, const std::string& uri,
                                 std::uint32_t affinity_workers, bool live)
    : layout_(std::move(layout)),
      version_(version),
      affinity_workers_(affinity_workers),
      live_(live),
      root_(std::make_shared<const storage::memory::MemoryRoot>(
          uri, std::string(version.begin(), version.end()), nullptr)) {}

Sample ProducedDataset::At(std::uint64_t /*id*/) const {
  Sample sample;
  // The sample has no extent: its length stays 0, and nothing is read.
  sample.object = "produced";
  return sample;
}

void ProducedDataset::ValuesOf(std::uint64_t /*id*/,
                               absl::Span<FieldValue> values) const {
  std::fill(values.begin(), values.end(), FieldRange{});
}

}  // namespace forebay::dataset::produced
