#include "server/dataset/composed/composer.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "proto/dataset.pb.h"
#include "server/base/index_list.h"
#include "server/base/sealed_memory.h"
#include "server/base/status.h"
#include "server/dataset/composed/composed_keys.h"
#include "server/dataset/composed/concatenation.h"
#include "server/dataset/composed/subset.h"
#include "server/dataset/memory/array_dataset.h"
#include "server/dataset/produced/produced_dataset.h"
#include "server/dataset/spec_contents.h"

namespace forebay::dataset::composed {

absl::StatusOr<std::shared_ptr<const Dataset>> Composer::Open(
    const DatasetInputs& inputs, const proto::DatasetSpec& spec,
    storage::ByteSource& source, std::vector<std::string>* warnings,
    const Opening& opening) {
  switch (spec.kind_case()) {
    case proto::DatasetSpec::kArrays:
      return OpenArrays(inputs, spec);
    case proto::DatasetSpec::kProduced:
      return produced::ProducedDataset::Create(spec);
    case proto::DatasetSpec::kSubset: {
      if (!spec.subset().has_part()) {
        return absl::InvalidArgumentError("a subset is of one dataset");
      }
      FOREBAY_ASSIGN_OR_RETURN(
          std::vector<DatasetPtr> parts,
          OpenParts(inputs, spec, source, warnings, opening));
      return OpenSubset(std::move(parts[0]), inputs, spec.subset().keys());
    }
    case proto::DatasetSpec::kConcatenation: {
      FOREBAY_ASSIGN_OR_RETURN(
          std::vector<DatasetPtr> parts,
          OpenParts(inputs, spec, source, warnings, opening));
      return Concatenation::Create(std::move(parts));
    }
    default:
      if (inputs.root == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat(spec.uri(), ": it was not said where it lies"));
      }
      // A table in memory needs a root, too: the table names files below the
      // root.
      if (inputs.memory) {
        FOREBAY_ASSIGN_OR_RETURN(
            const auto table,
            base::SealedMemory::Map(inputs.memory, budget_, "a table"));
        const absl::Span<const std::uint8_t> bytes = table->bytes();
        return catalog_->Open(
            inputs.root, spec, source, warnings, opening,
            std::string_view(reinterpret_cast<const char*>(bytes.data()),
                             bytes.size()));
      }
      return catalog_->Open(inputs.root, spec, source, warnings, opening);
  }
}

absl::StatusOr<std::vector<std::shared_ptr<const Dataset>>> Composer::OpenParts(
    const DatasetInputs& inputs, const proto::DatasetSpec& spec,
    storage::ByteSource& source, std::vector<std::string>* warnings,
    const Opening& opening) {
  const std::vector<const proto::DatasetSpec*> specs = PartsOf(spec);
  if (inputs.parts.size() != specs.size()) {
    return absl::InvalidArgumentError("a part of a dataset did not come");
  }
  std::vector<DatasetPtr> parts;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    FOREBAY_ASSIGN_OR_RETURN(DatasetPtr part, Open(inputs.parts[i], *specs[i],
                                                   source, warnings, opening));
    // Samples that workers make cannot be read, so readers of the composed
    // dataset would not get them.
    if (part->is_produced()) {
      return absl::InvalidArgumentError(
          absl::StrCat(part->uri(),
                       ": a dataset that workers make cannot be a part of "
                       "another: let the workers make the parts"));
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

absl::StatusOr<std::shared_ptr<const Dataset>> Composer::OpenSubset(
    DatasetPtr whole, const DatasetInputs& inputs, std::uint64_t keys) {
  constexpr char kWhat[] = "the list of a subset's samples";
  FOREBAY_ASSIGN_OR_RETURN(
      auto memory, base::SealedMemory::Map(inputs.memory, budget_, kWhat));
  if (keys > 0) {
    FOREBAY_ASSIGN_OR_RETURN(memory,
                             NumbersOfKeys(*whole, *memory, keys, budget_));
  }
  FOREBAY_ASSIGN_OR_RETURN(
      auto list, base::IndexList::Create(std::move(memory), whole->size(),
                                         budget_, kWhat));
  return std::make_shared<const Subset>(std::move(whole), std::move(list));
}

absl::StatusOr<std::shared_ptr<const Dataset>> Composer::OpenArrays(
    const DatasetInputs& inputs, const proto::DatasetSpec& spec) {
  FOREBAY_ASSIGN_OR_RETURN(
      auto memory,
      base::SealedMemory::Map(inputs.memory, budget_, "arrays in memory"));
  FOREBAY_ASSIGN_OR_RETURN(DatasetPtr dataset, memory::ArrayDataset::Create(
                                                   spec, std::move(memory)));
  // If two loaders send equal arrays, the copy of the later loader is dropped
  // here.
  base::MutexLock lock(&mutex_);
  std::erase_if(arrays_,
                [](const auto& item) { return item.second.expired(); });
  // The map does not own datasets, so that a dataset is freed when its last
  // loader is closed.
  std::weak_ptr<const Dataset>& known = arrays_[dataset->version()];
  if (DatasetPtr same = known.lock()) return same;
  known = dataset;
  return dataset;
}

}  // namespace forebay::dataset::composed
