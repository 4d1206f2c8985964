// The sizes that a loader reports of its dataset, and the fields of its
// batches.

#include <cstring>
#include <fstream>

#include "tests/catch/catch.h"
#include "tests/integration/cpp/reading.h"

namespace cpp_user {
namespace {

std::vector<std::uint64_t> ShapeOf(const forebay_field& field) {
  return {field.shape, field.shape + field.rank};
}

std::string VersionOf(const forebay::Loader& loader) {
  const forebay_loader_info info = loader.info();
  return {reinterpret_cast<const char*>(info.dataset_version),
          sizeof info.dataset_version};
}

TEST_CASE("A C++ loader tells its dataset's size and its epochs and classes",
          "[cpp][dataset]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  const forebay::Loader loader(options, WholePictures());
  const forebay_loader_info info = loader.info();
  CHECK(info.dataset_size == kSamples);
  CHECK(info.samples_per_epoch == kSamples);
  CHECK(info.batches_per_epoch == 8);
  CHECK(info.slot_bytes > 4 * kPictureBytes);
  REQUIRE(info.class_count == Classes().size());
  for (std::uint64_t label = 0; label < info.class_count; ++label)
    CHECK(loader.class_name(label) == Classes()[label]);
  const Failure failure = FailureOf([&] { loader.class_name(3); });
  CHECK(failure.status == FOREBAY_INVALID_ARGUMENT);
  CHECK_THAT(failure.text, Catch::Contains("class"));
  options.drop_last = 1;
  CHECK(forebay::Loader(options, WholePictures()).info().batches_per_epoch ==
        7);
}

TEST_CASE("A C++ loader tells the version of its dataset", "[cpp][dataset]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  const forebay::Loader loader(options, WholePictures());
  CHECK(VersionOf(loader) != std::string(16, '\0'));
  options.seed = 1;
  options.order = FOREBAY_SHUFFLE;
  const forebay::Loader other(options, RandomCrops());
  CHECK(VersionOf(other) == VersionOf(loader));
  pictures.Spoil(29);
  const forebay::Loader later(options, WholePictures());
  CHECK(VersionOf(later) != VersionOf(loader));
}

TEST_CASE("A C++ batch has the fields image and label and sample_id",
          "[cpp][dataset]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), WholePictures());
  loader.StartEpoch(3, 8);
  const auto batch = loader.Next();
  REQUIRE(batch.has_value());
  const forebay_batch_info info = batch->info();
  CHECK(info.sample_count == 4);
  CHECK(batch->size() == 4);
  CHECK(info.epoch == 3);
  CHECK(info.first_sample == 8);
  CHECK(info.is_copy == 0);
  REQUIRE(info.field_count == 3);

  const forebay_field image = batch->field("image");
  CHECK(image.name == std::string("image"));
  CHECK(image.kind == FOREBAY_IMAGE);
  CHECK(image.dtype == FOREBAY_UINT8);
  CHECK(ShapeOf(image) == std::vector<std::uint64_t>{4, kHeight, kWidth, 3});
  CHECK(image.bytes == 4 * kPictureBytes);
  const forebay_field label = batch->field("label");
  CHECK(label.kind == FOREBAY_LABEL);
  CHECK(label.dtype == FOREBAY_INT64);
  CHECK(ShapeOf(label) == std::vector<std::uint64_t>{4});
  CHECK(label.bytes == 32);
  const forebay_field id = batch->field("sample_id");
  CHECK(id.kind == FOREBAY_SAMPLE_ID);
  CHECK(id.dtype == FOREBAY_INT64);
  CHECK(ShapeOf(id) == std::vector<std::uint64_t>{4});
  for (std::uint32_t i = 0; i < info.field_count; ++i) {
    const forebay_field field = batch->field(i);
    CAPTURE(field.name);
    CHECK(reinterpret_cast<std::uintptr_t>(field.data) % 4096 == 0);
    CHECK(field.row_splits == nullptr);
    CHECK(batch->place(i) == FOREBAY_HOST);
  }
}

TEST_CASE("A C++ program reads the pixels and labels of its pictures",
          "[cpp][dataset]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.order = FOREBAY_SHUFFLE;
  forebay::Loader loader(options, WholePictures());
  loader.StartEpoch(0);
  std::uint64_t samples = 0;
  while (const auto batch = loader.Next()) {
    const auto* const pixels =
        static_cast<const std::uint8_t*>(batch->field("image").data);
    const auto* const labels =
        static_cast<const std::int64_t*>(batch->field("label").data);
    const std::vector<std::int64_t> ids = IdsOf(*batch);
    for (std::size_t i = 0; i < ids.size(); ++i, ++samples) {
      CAPTURE(Pictures::FileOf(ids[i]));
      CHECK(Crc32(pixels + i * kPictureBytes, kPictureBytes) ==
            Pictures::PixelsOf(ids[i]));
      CHECK(labels[i] == ids[i] / static_cast<std::int64_t>(kPerClass));
    }
  }
  CHECK(samples == kSamples);
}

TEST_CASE("A C++ program's pipeline decides the type and layout of images",
          "[cpp][dataset]") {
  const Daemon daemon;
  const Pictures pictures;
  struct Type {
    forebay_dtype dtype;
    std::uint64_t bytes;
  };
  for (const Type type :
       {Type{FOREBAY_UINT8, 1}, Type{FOREBAY_FLOAT16, 2},
        Type{FOREBAY_BFLOAT16, 2}, Type{FOREBAY_FLOAT32, 4}}) {
    for (const forebay_layout layout : {FOREBAY_NCHW, FOREBAY_NHWC}) {
      CAPTURE(type.dtype, layout);
      forebay::Pipeline pipeline;
      forebay::Check(forebay_pipeline_add_resize(pipeline.get(), 6, 8, 0,
                                                 FOREBAY_BICUBIC));
      forebay::Check(forebay_pipeline_add_to_image(pipeline.get(), layout));
      if (type.bytes > 1)
        forebay::Check(
            forebay_pipeline_add_to_dtype(pipeline.get(), type.dtype, 1));
      forebay::Loader loader(OptionsFor(daemon, pictures), pipeline);
      loader.StartEpoch(0);
      const forebay_field image = loader.Next().value().field("image");
      CHECK(image.dtype == type.dtype);
      CHECK(ShapeOf(image) == (layout == FOREBAY_NCHW
                                   ? std::vector<std::uint64_t>{4, 3, 6, 8}
                                   : std::vector<std::uint64_t>{4, 6, 8, 3}));
      CHECK(image.bytes == 4 * 3 * 6 * 8 * type.bytes);
    }
  }
}

// The captions of the samples of a table.
constexpr const char* kCaptions[] = {"", "with words", "\u00e9\u4e16", "x",
                                     "the last"};

std::string WriteTable(const Pictures& pictures) {
  std::string path = pictures.path() + "/table.csv";
  std::ofstream table(path);
  table << "file,text,kind\n";
  for (std::int64_t id = 0; id < 5; ++id)
    table << Pictures::FileOf(id * 6) << ',' << kCaptions[id] << ',' << 100 + id
          << '\n';
  return path;
}

TEST_CASE("BytesOf gives each sample's part of a field of varying length",
          "[cpp][dataset]") {
  const Daemon daemon;
  const Pictures pictures;
  const std::string path = WriteTable(pictures);
  forebay_loader_options options = OptionsFor(daemon, path);
  options.format = FOREBAY_MANIFEST;
  const char* const fields[] = {"image", "caption", "number"};
  const char* const columns[] = {"file", "text", "kind"};
  options.fields = fields;
  options.columns = columns;
  options.field_count = 3;
  options.batch_size = 3;
  forebay::Loader loader(options, WholePictures());
  CHECK(loader.info().class_count == 0);
  loader.StartEpoch(0);
  std::size_t at = 0;
  while (const auto batch = loader.Next()) {
    const forebay_field caption = batch->field("caption");
    CHECK(caption.kind == FOREBAY_TEXT);
    CHECK(caption.dtype == FOREBAY_UINT8);
    REQUIRE(caption.row_splits != nullptr);
    CHECK(caption.row_splits[0] == 0);
    CHECK(caption.row_splits[batch->size()] ==
          static_cast<std::int64_t>(caption.shape[0]));
    CHECK(caption.bytes == caption.shape[0]);
    const forebay_field number = batch->field("number");
    for (std::uint64_t i = 0; i < batch->size(); ++i, ++at) {
      CHECK(forebay::BytesOf(caption, i) == kCaptions[at]);
      CHECK(static_cast<const std::int64_t*>(number.data)[i] ==
            100 + static_cast<std::int64_t>(at));
    }
  }
  CHECK(at == 5);
}

TEST_CASE("A field that a C++ batch lacks is an error that names it",
          "[cpp][dataset]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay::Loader loader(OptionsFor(daemon, pictures), WholePictures());
  loader.StartEpoch(0);
  const auto batch = loader.Next();
  REQUIRE(batch.has_value());
  const Failure by_name = FailureOf([&] { batch->field("picture"); });
  CHECK(by_name.status == FOREBAY_NOT_FOUND);
  CHECK_THAT(by_name.text, Catch::Contains("picture"));
  // The message names the existing fields.
  CHECK_THAT(by_name.text, Catch::Contains("image, label, sample_id"));
  // A beginning of a field's name is not enough.
  CHECK(FailureOf([&] { batch->field("imag"); }).status == FOREBAY_NOT_FOUND);
  CHECK(FailureOf([&] { batch->field(""); }).status == FOREBAY_NOT_FOUND);
  for (const std::uint32_t index : {3u, 16u, ~0u}) {
    const Failure by_index = FailureOf([&] { batch->field(index); });
    CHECK(by_index.status == FOREBAY_INVALID_ARGUMENT);
    CHECK_THAT(by_index.text, Catch::Contains("field"));
    CHECK(batch->place(index) == FOREBAY_HOST);
  }
}

TEST_CASE("A C++ batch on the host is not put on a GPU", "[cpp][dataset]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  forebay::Loader loader(options, WholePictures());
  CHECK(loader.refusal().empty());
  loader.StartEpoch(0);
  auto batch = loader.Next();
  REQUIRE(batch.has_value());
  char room[64];
  const Failure put = FailureOf([&] { batch->Put(0, room, nullptr); });
  CHECK(put.status == FOREBAY_INVALID_ARGUMENT);
  CHECK_THAT(put.text, Catch::Contains("host"));
  CHECK(FailureOf([&] { batch->Put(9, room, nullptr); }).status ==
        FOREBAY_INVALID_ARGUMENT);
}

TEST_CASE(
    "A C++ loader that gets no GPU says why and gives batches on the host",
    "[cpp][dataset]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.device = 0;
  forebay::Loader loader(options, WholePictures());
  CHECK_FALSE(loader.refusal().empty());
  loader.StartEpoch(0);
  const auto batch = loader.Next();
  REQUIRE(batch.has_value());
  CHECK(batch->place(0) == FOREBAY_HOST);
  CHECK(batch->field(0).data != nullptr);
}

}  // namespace
}  // namespace cpp_user
