#include "client/wire/dataset_spec.h"

#include <cstdint>

namespace forebay::client::wire {
namespace {

using message::ArrayField;
using message::DatasetSpec;

std::int32_t KindOf(const forebay_array& array) {
  return array.kind == FOREBAY_IMAGE   ? ArrayField::kImage
         : array.kind == FOREBAY_LABEL ? ArrayField::kLabel
                                       : ArrayField::kArray;
}

// Whether the options have a column for each field.
bool HasColumns(const forebay_loader_options& options) {
  switch (static_cast<int>(options.format)) {
    case FOREBAY_MANIFEST:
    case FOREBAY_TFRECORD:
    case FOREBAY_LMDB:
    case FOREBAY_HDF5:
    case FOREBAY_NPZ:
    case FOREBAY_TOKENS:
    case FOREBAY_ARRAY_RECORD:
      return true;
    case FOREBAY_MDS:
      return options.columns != nullptr;
    default:
      return false;
  }
}

}  // namespace

DatasetSpec SpecOfLocation(const forebay_loader_options& options,
                           const DatasetLocation& location) {
  DatasetSpec dataset;
  dataset.uri = location.uri;
  // Each format of files has the same number in DatasetSpec::Format as in
  // forebay_format.
  dataset.format = options.format;
  dataset.extra_roots = static_cast<std::uint32_t>(options.extra_root_count);
  dataset.extra_root_paths.assign(
      options.extra_roots, options.extra_roots + options.extra_root_count);
  dataset.shards = location.shards;
  dataset.fields.assign(options.fields, options.fields + options.field_count);
  dataset.manifest = location.manifest;
  dataset.folder = location.inner_folder;
  if (HasColumns(options))
    dataset.columns.assign(options.columns,
                           options.columns + options.field_count);
  if (options.format == FOREBAY_LMDB && options.database != nullptr)
    dataset.database = options.database;
  return dataset;
}

DatasetSpec SpecOfRecords(std::string_view uri, DatasetSpec::Format format,
                          const Records& records) {
  DatasetSpec dataset;
  dataset.uri = uri;
  dataset.format = format;
  for (const RecordField& field : records.fields) {
    ArrayField& array = dataset.arrays.emplace_back();
    array.name = field.array->name;
    array.kind = KindOf(*field.array);
    array.dtype = field.array->dtype;
    array.shape = field.shape;
  }
  dataset.samples = records.samples;
  return dataset;
}

}  // namespace forebay::client::wire
