// Tests which variant of its images a stream reads, offers to the cache, and
// reports to the coordinator. The tests use the real pipeline and real images.
#include "server/stream/cached_decoder.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/job.pb.h"
#include "server/base/status.h"
#include "server/pipeline/pipeline.h"
#include "server/stream/coordinator.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/fake_dataset.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"
#include "tests/unit/server/storage/fake_root.h"
#include "tests/unit/server/stream/fake_production.h"
#include "tests/unit/server/stream/fake_variant_store.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kSize = 40;
// A decoder measures the first kMeasured images, and offers none of them.
constexpr int kMeasured = 8;

// A dataset whose samples are all the same photograph, perhaps followed by a
// caption.
class Photos final : public dataset::FakeDataset {
 public:
  Photos(Bytes image, std::string caption, std::string field = "image")
      : FakeDataset({.size = kSize,
                     .fields = {{std::move(field), proto::FieldKind::kImage,
                                 image.size()},
                                {"caption", proto::FieldKind::kBytes, 100}},
                     .largest_sample = image.size() + caption.size(),
                     .root = storage::FakeRoot::Make(
                         {.uri = "/data", .identity = "/data"})}),
        image_bytes_(image.size()),
        bytes_(std::move(image)) {
    bytes_.insert(bytes_.end(), caption.begin(), caption.end());
  }

  const Bytes& bytes() const { return bytes_; }
  dataset::FieldRange image() const { return {0, image_bytes_}; }

  dataset::Sample At(std::uint64_t id) const override {
    dataset::Sample sample;
    sample.object = std::to_string(id);
    sample.length = sample.version.size = bytes_.size();
    return sample;
  }
  void ValuesOf(std::uint64_t id,
                absl::Span<dataset::FieldValue> values) const override {
    values[0] = image();
    if (bytes_.size() == image_bytes_) {
      values[1] = static_cast<std::int64_t>(id);
    } else {
      values[1] =
          dataset::FieldRange{image_bytes_, bytes_.size() - image_bytes_};
    }
  }

 private:
  const std::uint64_t image_bytes_;
  Bytes bytes_;
};

std::shared_ptr<const pipeline::Pipeline> Crop(std::uint32_t size,
                                               std::uint32_t resized = 0) {
  proto::PipelineSpec spec;
  if (resized > 0) {
    auto* const resize = spec.add_ops()->mutable_resize();
    resize->set_height(resized);
    resize->set_width(resized);
  }
  auto* const crop = spec.add_ops()->mutable_random_resized_crop();
  crop->set_height(size);
  crop->set_width(size);
  crop->set_scale_min(0.1F);
  crop->set_scale_max(1);
  crop->set_ratio_min(0.75F);
  crop->set_ratio_max(1.3F);
  return *pipeline::Pipeline::Create(spec);
}

class CachedDecoderTest {
 protected:
  explicit CachedDecoderTest(const std::string& caption = "")
      : photos_(std::make_shared<Photos>(
            pipeline::decode::GoldenFile("420.jpg"), caption)) {}

  static StreamSpec StreamSpecFor(
      const std::shared_ptr<const dataset::Dataset>& dataset,
      const std::shared_ptr<const pipeline::Pipeline>& pipeline) {
    StreamSpec stream_spec = FakeStreamSpec(kSize, 4);
    stream_spec.dataset = dataset;
    stream_spec.fields.clear();
    for (const dataset::Field& field : dataset->fields()) {
      stream_spec.fields.push_back(
          {.name = field.name, .kind = field.kind, .value = {}});
    }
    stream_spec.pipeline = pipeline;
    return stream_spec;
  }

  static pipeline::SampleKey KeyOf(std::uint64_t id) {
    return {.seed = 5, .epoch = 1, .sample = id};
  }

  // Makes the sample's image from bytes that are the variant `variant`.
  absl::StatusOr<Bytes> Make(CachedDecoder& choice, std::uint64_t id,
                             const Bytes& read,
                             storage::Variant variant = storage::kEncoded) {
    Batch batch;
    PendingSample pending;
    pending.batch = &batch;
    pending.id = id;
    pending.variant = variant;
    pending.length = photos_->bytes().size();
    Bytes made(spec_.pipeline->output().bytes);
    const absl::Status status =
        choice.Make(pending, KeyOf(id), read, photos_->image(), workspace_,
                    absl::MakeSpan(made));
    if (!status.ok()) return status;
    return made;
  }
  Bytes Plain(std::uint64_t id) {
    Bytes made(spec_.pipeline->output().bytes);
    const dataset::FieldRange image = photos_->image();
    CHECK_THAT(spec_.pipeline->Run(absl::MakeConstSpan(photos_->bytes())
                                       .subspan(image.offset, image.length),
                                   KeyOf(id), workspace_, absl::MakeSpan(made)),
               IsOk());
    return made;
  }
  // Makes images until the decoder has measured enough to offer them.
  void Measure(CachedDecoder& choice) {
    for (int i = 0; i < kMeasured; ++i) {
      REQUIRE_THAT(Make(choice, kSize - 1, photos_->bytes()), IsOk());
    }
    REQUIRE(store_.offers == 0);
  }

  const std::shared_ptr<const Photos> photos_;
  StreamSpec spec_ = StreamSpecFor(photos_, Crop(20));
  FakeVariantStore store_;
  pipeline::Workspace workspace_{pipeline::WorkspaceLimits{}};
};

TEST_CASE_METHOD(
    CachedDecoderTest,
    "The variant number is that of the image and of what is read besides",
    "[stream][cached_decoder]") {
  const storage::Variant variant = VariantNumber(spec_);
  CHECK(variant != storage::kEncoded);
  // Random ops do not change the variant.
  CHECK(VariantNumber(StreamSpecFor(photos_, Crop(24))) == variant);
  CHECK(VariantNumber(StreamSpecFor(photos_, Crop(20, 30))) != variant);
  const Bytes image = photos_->bytes();
  CHECK(VariantNumber(StreamSpecFor(std::make_shared<Photos>(image, "", "mask"),
                                    Crop(20))) != variant);
  CHECK(VariantNumber(StreamSpecFor(std::make_shared<Photos>(image, "a cat"),
                                    Crop(20))) != variant);
  CHECK(VariantNumber(StreamSpecFor(photos_, nullptr)) == storage::kEncoded);
}

TEST_CASE_METHOD(CachedDecoderTest,
                 "A cached decoder chooses no variant without a variant store",
                 "[stream][cached_decoder]") {
  CachedDecoder choice(&spec_, nullptr);
  CHECK(choice.variant() == storage::kEncoded);
  for (std::uint64_t id = 0; id < 2 * kMeasured; ++id) {
    CHECK(*Make(choice, id, photos_->bytes()) == Plain(id));
  }
}

TEST_CASE_METHOD(CachedDecoderTest,
                 "A variant that is kept makes the same images",
                 "[stream][cached_decoder]") {
  CachedDecoder choice(&spec_, &store_);
  CHECK(choice.variant() == VariantNumber(spec_));
  Measure(choice);
  CHECK(*Make(choice, 3, photos_->bytes()) == Plain(3));
  REQUIRE(store_.offers == 1);
  CHECK(store_.object == "3");
  CHECK(store_.last.variant == choice.variant());
  CHECK(store_.last.saves_nanos > 0);
  CHECK_FALSE(store_.last.is_awaited);
  // The variant serves any sample, because all samples have one image.
  for (const std::uint64_t id : {3, 4, 5}) {
    CHECK(*Make(choice, id, store_.variants.at("3"), choice.variant()) ==
          Plain(id));
  }
}

TEST_CASE_METHOD(CachedDecoderTest,
                 "An image whose variant is not kept is made all the same",
                 "[stream][cached_decoder]") {
  CachedDecoder choice(&spec_, &store_);
  Measure(choice);
  store_.is_full = true;
  CHECK(*Make(choice, 3, photos_->bytes()) == Plain(3));
  CHECK(store_.offers == 1);
  CHECK(store_.variants.empty());
}

TEST_CASE_METHOD(CachedDecoderTest,
                 "A corrupt image is an error and its variant is not kept",
                 "[stream][cached_decoder]") {
  CachedDecoder choice(&spec_, &store_);
  Measure(choice);
  CHECK_THAT(Make(choice, 3, Bytes(photos_->bytes().size())),
             HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(Make(choice, 3, Bytes(100), choice.variant()),
             HasCode(absl::StatusCode::kDataLoss));
  CHECK(store_.variants.empty());
}

TEST_CASE_METHOD(CachedDecoderTest,
                 "The coordinator learns what became of a sample",
                 "[stream][cached_decoder]") {
  const auto coordinator = std::make_shared<Coordinator>(
      kSize, store_.variant_capacity(), 1, base::AmpleBudget());
  spec_.order_member = coordinator->Join({});
  const auto other = coordinator->Join({});
  CachedDecoder choice(&spec_, &store_);
  Measure(choice);

  const std::uint64_t sample = spec_.order_member->At(0);
  CHECK_THAT(Make(choice, sample, photos_->bytes()), IsOk());
  CHECK(store_.last.is_awaited);
  // The variant was cached.
  CHECK(spec_.order_member->PositionOf(sample) == kSize + 1);
  CHECK(other->At(0) == sample);

  const Bytes variant = store_.variants.at(std::to_string(sample));
  CHECK_THAT(Make(choice, sample, variant, choice.variant()), IsOk());
  CHECK(spec_.order_member->PositionOf(sample) == kSize + 1);

  // The cache no longer has this variant.
  store_.is_full = true;
  CHECK_THAT(Make(choice, sample, photos_->bytes()), IsOk());
  other->Missed(sample);
  CHECK(spec_.order_member->PositionOf(sample) == std::nullopt);
}

TEST_CASE_METHOD(CachedDecoderTest,
                 "A variant that leaves the coordinator's set is dropped",
                 "[stream][cached_decoder]") {
  // The smallest number of decoded samples that the coordinator plans for.
  constexpr std::size_t kDecoded = 16;
  const auto coordinator =
      std::make_shared<Coordinator>(kSize, 1, 1, base::AmpleBudget());
  spec_.order_member = coordinator->Join({});
  const auto other = coordinator->Join({});
  CachedDecoder choice(&spec_, &store_);
  Measure(choice);
  for (std::uint64_t i = 0; i < 2 * kDecoded; ++i) {
    const std::uint64_t sample = spec_.order_member->At(i);
    // The decoder offers the sample whatever it has measured, because the other
    // member wants the sample.
    CachedDecoder fresh(&spec_, &store_);
    const int offers = store_.offers;
    while (store_.offers == offers) {
      REQUIRE_THAT(Make(fresh, sample, photos_->bytes()), IsOk());
    }
    CHECK(store_.variants.contains(std::to_string(sample)));
    CHECK(store_.variants.size() == std::min<std::size_t>(i + 1, kDecoded));
  }
}

// A dataset of compressed images, each of which is stored in reverse.
class CompressedPhotos final : public dataset::FakeDataset {
 public:
  explicit CompressedPhotos(const Bytes& image)
      : FakeDataset(
            {.size = kSize,
             .fields = {{"image", proto::FieldKind::kImage, image.size()}},
             .largest_sample = image.size(),
             .root = storage::FakeRoot::Make(
                 {.uri = "/data", .identity = "/data"})}),
        bytes_(image.rbegin(), image.rend()) {}

  const Bytes& bytes() const { return bytes_; }
  dataset::CompressedRange image() const { return {{0, bytes_.size()}}; }

  dataset::Sample At(std::uint64_t id) const override {
    dataset::Sample sample;
    sample.object = std::to_string(id);
    return sample;
  }
  void ValuesOf(std::uint64_t, absl::Span<dataset::FieldValue>) const override {
  }
  absl::StatusOr<absl::Span<const std::uint8_t>> Decompress(
      std::uint64_t, absl::Span<const std::uint8_t> compressed,
      dataset::DecompressionRoom room) const override {
    ++decompressed;
    FOREBAY_ASSIGN_OR_RETURN(const auto out, room(compressed.size()));
    std::reverse_copy(compressed.begin(), compressed.end(), out.begin());
    return out;
  }

  mutable int decompressed = 0;

 private:
  const Bytes bytes_;
};

TEST_CASE_METHOD(CachedDecoderTest,
                 "A variant of a compressed image needs no decompressing",
                 "[stream][cached_decoder]") {
  const auto compressed = std::make_shared<CompressedPhotos>(photos_->bytes());
  const StreamSpec spec = StreamSpecFor(compressed, Crop(20));
  CachedDecoder choice(&spec, &store_);
  Bytes made(spec.pipeline->output().bytes);
  Batch batch;
  PendingSample pending;
  pending.batch = &batch;
  pending.id = 3;
  pending.length = compressed->bytes().size();
  for (int i = 0; i <= kMeasured; ++i) {
    REQUIRE_THAT(
        choice.Make(pending, KeyOf(3), compressed->bytes(), compressed->image(),
                    workspace_, absl::MakeSpan(made)),
        IsOk());
    CHECK(made == Plain(3));
  }
  CHECK(compressed->decompressed == kMeasured + 1);
  REQUIRE(store_.variants.contains("3"));
  pending.variant = choice.variant();
  std::fill(made.begin(), made.end(), 0);
  REQUIRE_THAT(
      choice.Make(pending, KeyOf(3), store_.variants.at("3"),
                  compressed->image(), workspace_, absl::MakeSpan(made)),
      IsOk());
  CHECK(made == Plain(3));
  CHECK(compressed->decompressed == kMeasured + 1);

  pending.variant = storage::kEncoded;
  pipeline::Workspace small(
      {.scratch_bytes = 1'000, .larger_scratch_bytes = 1 << 20});
  CHECK_THAT(choice.Make(pending, KeyOf(3), compressed->bytes(),
                         compressed->image(), small, absl::MakeSpan(made)),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(small.WantsLarger());
}

class CaptionedTest : public CachedDecoderTest {
 protected:
  CaptionedTest() : CachedDecoderTest("a cat") {}
};

TEST_CASE_METHOD(CaptionedTest,
                 "What else was read of a sample stands before its variant",
                 "[stream][cached_decoder]") {
  CachedDecoder choice(&spec_, &store_);
  Measure(choice);
  CHECK(*Make(choice, 3, photos_->bytes()) == Plain(3));
  const Bytes& variant = store_.variants.at("3");
  const Bytes& read = photos_->bytes();
  REQUIRE(variant.size() > read.size());
  CHECK(Bytes(variant.begin(),
              variant.begin() + static_cast<long>(read.size())) == read);
  CHECK(*Make(choice, 7, variant, choice.variant()) == Plain(7));
}

}  // namespace
}  // namespace forebay::stream
