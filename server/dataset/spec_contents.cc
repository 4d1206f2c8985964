#include "server/dataset/spec_contents.h"

namespace forebay::dataset {

using proto::DatasetSpec;

const google::protobuf::RepeatedPtrField<std::string>& FilesOf(
    const DatasetSpec& spec) {
  switch (spec.kind_case()) {
    case DatasetSpec::kWebdataset:
      return spec.webdataset().files();
    case DatasetSpec::kNpz:
      return spec.npz().files();
    case DatasetSpec::kTfrecord:
      return spec.tfrecord().files();
    case DatasetSpec::kArrayRecord:
      return spec.array_record().files();
    case DatasetSpec::kLmdb:
      return spec.lmdb().files();
    case DatasetSpec::kMds:
      return spec.mds().files();
    case DatasetSpec::kHdf5:
      return spec.hdf5().files();
    case DatasetSpec::kZip:
      return spec.zip().files();
    case DatasetSpec::kTokens:
      return spec.tokens().files();
    default:
      // Kinds without files have no npy_files message, so the list is empty.
      return spec.npy_files().files();
  }
}

const google::protobuf::RepeatedPtrField<proto::TypedField>& TypedFieldsOf(
    const DatasetSpec& spec) {
  switch (spec.kind_case()) {
    case DatasetSpec::kArrayRecord:
      return spec.array_record().fields();
    case DatasetSpec::kLmdb:
      return spec.lmdb().fields();
    case DatasetSpec::kMds:
      return spec.mds().fields();
    case DatasetSpec::kHdf5:
      return spec.hdf5().fields();
    default:
      // For a kind without typed fields, this is the empty list of an unset
      // message.
      return spec.tfrecord().fields();
  }
}

std::vector<const DatasetSpec*> PartsOf(const DatasetSpec& spec) {
  if (spec.has_subset() && spec.subset().has_part())
    return {&spec.subset().part()};
  std::vector<const DatasetSpec*> parts;
  for (const DatasetSpec& part : spec.concatenation().parts())
    parts.push_back(&part);
  return parts;
}

bool HasRoot(const DatasetSpec& spec) {
  return !spec.has_arrays() && !spec.has_produced() && !spec.has_subset() &&
         !spec.has_concatenation();
}

}  // namespace forebay::dataset
