#include "client/wire/dataset_codec.h"

#include <cstdint>
#include <protozero/pbf_builder.hpp>

namespace forebay::client::wire {
namespace {

using Tag = protozero::pbf_tag_type;

// Field numbers of proto.DatasetSpec and proto.ArrayField in
// proto/dataset.proto.
enum class DatasetTag : Tag {
  kUri = 1,
  kFormat = 2,
  kExtraRoots = 3,
  kExtraRootPaths = 4,
  kShards = 5,
  kFields = 6,
  kManifest = 7,
  kColumns = 8,
  kParts = 9,
  kDescriptors = 10,
  kArrays = 11,
  kSamples = 12,
  kIdentity = 13,
  kLanes = 14,
  kLive = 15,
  kHostFields = 16,
  kFolder = 17,
  kDatabase = 18,
};
enum class ArrayTag : Tag { kName = 1, kKind = 2, kDtype = 3, kShape = 4 };

// Values of proto.DatasetSpec.Format and proto.ArrayField.Kind. The formats of
// files have the values of forebay_format.
constexpr int kSubset = 4;
constexpr int kConcatenation = 5;
constexpr int kArrays = 6;
constexpr int kProduced = 8;
constexpr int kImageArray = 1;
constexpr int kLabelArray = 2;
constexpr int kPlainArray = 3;

using DatasetBuilder = protozero::pbf_builder<DatasetTag>;

int KindOf(const forebay_array& array) {
  return array.kind == FOREBAY_IMAGE   ? kImageArray
         : array.kind == FOREBAY_LABEL ? kLabelArray
                                       : kPlainArray;
}

// Writes the fields that every spec has.
void Begin(DatasetBuilder& dataset, std::string_view uri, int format) {
  dataset.add_bytes(DatasetTag::kUri, uri.data(), uri.size());
  dataset.add_enum(DatasetTag::kFormat, format);
}

// Adds a part and the number of its descriptors. The part's spec may have that
// number already; if a message has a field twice, the last one counts.
void AddPart(DatasetBuilder& dataset, const EncodedPart& part) {
  std::string spec(part.spec);
  DatasetBuilder(spec).add_uint32(DatasetTag::kDescriptors,
                                  static_cast<std::uint32_t>(part.descriptors));
  dataset.add_message(DatasetTag::kParts, spec);
}

// Writes the fields' names, types and shapes for one sample, and the number of
// samples.
void AddRecords(DatasetBuilder& dataset, const Records& records) {
  for (const RecordField& field : records.fields) {
    protozero::pbf_builder<ArrayTag> array(dataset, DatasetTag::kArrays);
    array.add_string(ArrayTag::kName, field.array->name);
    array.add_enum(ArrayTag::kKind, KindOf(*field.array));
    array.add_enum(ArrayTag::kDtype, field.array->dtype);
    array.add_packed_uint64(ArrayTag::kShape, field.shape.begin(),
                            field.shape.end());
  }
  dataset.add_uint64(DatasetTag::kSamples, records.samples);
}

}  // namespace

std::string EncodeLocation(const forebay_loader_options& options,
                           const DatasetLocation& location) {
  std::string bytes;
  DatasetBuilder dataset(bytes);
  Begin(dataset, location.uri, options.format);
  dataset.add_uint32(DatasetTag::kExtraRoots,
                     static_cast<std::uint32_t>(options.extra_root_count));
  for (size_t i = 0; i < options.extra_root_count; ++i)
    dataset.add_string(DatasetTag::kExtraRootPaths, options.extra_roots[i]);
  for (const std::string& shards : location.shards)
    dataset.add_string(DatasetTag::kShards, shards);
  for (size_t i = 0; i < options.field_count; ++i)
    dataset.add_string(DatasetTag::kFields, options.fields[i]);
  if (!location.manifest.empty())
    dataset.add_string(DatasetTag::kManifest, location.manifest);
  if (!location.inner_folder.empty())
    dataset.add_string(DatasetTag::kFolder, location.inner_folder);
  const bool is_lmdb = options.format == FOREBAY_LMDB;
  const bool has_columns =
      options.format == FOREBAY_MANIFEST ||
      options.format == FOREBAY_TFRECORD || options.format == FOREBAY_HDF5 ||
      options.format == FOREBAY_NPZ || options.format == FOREBAY_TOKENS ||
      options.format == FOREBAY_ARRAY_RECORD || is_lmdb ||
      (options.format == FOREBAY_MDS && options.columns != nullptr);
  for (size_t i = 0; has_columns && i < options.field_count; ++i)
    dataset.add_string(DatasetTag::kColumns, options.columns[i]);
  if (is_lmdb && options.database != nullptr)
    dataset.add_string(DatasetTag::kDatabase, options.database);
  return bytes;
}

std::string EncodeArrays(std::string_view uri, const Records& records) {
  std::string bytes;
  DatasetBuilder dataset(bytes);
  Begin(dataset, uri, kArrays);
  AddRecords(dataset, records);
  return bytes;
}

std::string EncodeProduced(std::string_view uri, std::string_view identity,
                           const Records& records) {
  std::string bytes;
  DatasetBuilder dataset(bytes);
  Begin(dataset, uri, kProduced);
  AddRecords(dataset, records);
  dataset.add_bytes(DatasetTag::kIdentity, identity.data(), identity.size());
  return bytes;
}

void AppendLanes(std::uint32_t lanes, std::string* spec) {
  DatasetBuilder dataset(*spec);
  dataset.add_uint32(DatasetTag::kLanes, lanes);
}

void AppendLive(std::string* spec) {
  protozero::pbf_builder<DatasetTag> dataset(*spec);
  dataset.add_bool(DatasetTag::kLive, true);
}

void AppendHostFields(std::uint32_t count, std::string* spec) {
  DatasetBuilder dataset(*spec);
  dataset.add_uint32(DatasetTag::kHostFields, count);
}

std::string EncodeSubset(std::string_view uri, const EncodedPart& whole,
                         std::uint64_t keys) {
  std::string bytes;
  DatasetBuilder dataset(bytes);
  Begin(dataset, uri, kSubset);
  AddPart(dataset, whole);
  if (keys > 0) dataset.add_uint64(DatasetTag::kSamples, keys);
  return bytes;
}

std::string EncodeConcatenation(std::string_view uri,
                                const std::vector<EncodedPart>& parts) {
  std::string bytes;
  DatasetBuilder dataset(bytes);
  Begin(dataset, uri, kConcatenation);
  for (const EncodedPart& part : parts) AddPart(dataset, part);
  return bytes;
}

}  // namespace forebay::client::wire
