#include "server/pipeline/image/image_ops.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/pipeline/op_traits.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/image/recording_target.h"

namespace forebay::pipeline::image {
namespace {

using tests::IsOk;
using transform::ImageExtent;

// Lists the draws: B and the number of choices, or U.
class ListingDraws final : public transform::Draws {
 public:
  float Unit() override {
    absl::StrAppend(&list, "U ");
    return 0.25F;
  }
  std::uint64_t Below(std::uint64_t n) override {
    absl::StrAppend(&list, "B", n, " ");
    return n - 1;
  }

  std::string list;
};

// Returns the draws of an op for an image of 20 x 10 pixels.
std::string DrawsOf(const ImageOp& op) {
  ListingDraws draws;
  CHECK_THAT(op.Draw(ImageExtent{20, 10}, draws), IsOk());
  return draws.list;
}

TEST_CASE("Ops draw in the order of their contracts", "[image][image_ops]") {
  proto::RandomHorizontalFlip flip;
  CHECK(DrawsOf(*OpOf(flip)) == "U ");
  proto::ColorJitter jitter;
  jitter.mutable_brightness()->set_min(0.6);
  jitter.mutable_brightness()->set_max(1.4);
  CHECK(DrawsOf(*OpOf(jitter)) == "B4 B3 B2 U ");
  // A factor that changes nothing is not drawn.
  jitter.mutable_contrast()->set_min(1);
  jitter.mutable_contrast()->set_max(1);
  CHECK(DrawsOf(*OpOf(jitter)) == "B4 B3 B2 U ");
  jitter.mutable_hue()->set_min(-0.1);
  CHECK(DrawsOf(*OpOf(jitter)) == "B4 B3 B2 U U ");
  // The height is drawn first; an axis that is as long as the crop is not.
  proto::RandomCrop crop;
  crop.set_height(4);
  crop.set_width(5);
  CHECK(DrawsOf(*OpOf(crop)) == "B7 B16 ");
  crop.set_width(20);
  CHECK(DrawsOf(*OpOf(crop)) == "B7 ");
}

// Sets all numbers of a message to 1, which suits each op.
void SetNumbers(google::protobuf::Message* message) {
  using google::protobuf::FieldDescriptor;
  const auto& type = *message->GetDescriptor();
  const auto& reflection = *message->GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* const field = type.field(i);
    if (field->is_repeated()) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      SetNumbers(reflection.MutableMessage(message, field));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
      reflection.SetUInt32(message, field, 1);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
      reflection.SetDouble(message, field, 1);
    }
  }
}

TEST_CASE("An op draws if and only if its options say so",
          "[image][image_ops]") {
  const auto& kinds = *proto::Op::GetDescriptor()->oneof_decl(0);
  int pixel_ops = 0;
  for (int i = 0; i < kinds.field_count(); ++i) {
    proto::Op op;
    auto* const message =
        op.GetReflection()->MutableMessage(&op, kinds.field(i));
    SetNumbers(message);
    if (op.has_resize()) op.mutable_resize()->clear_max_size();
    ProgramBuilder builder({});
    // Some ops add nothing, or are for arrays.
    if (!AddAny(op, builder, absl::InternalError("")).ok()) continue;
    builder.SetExtent({1, 1});
    const auto program = builder.Finish();
    REQUIRE_THAT(program, IsOk());
    if (program->ops.empty()) continue;
    ++pixel_ops;
    const ImageOp& image_op = *program->ops.front().op;
    CAPTURE(OpTitle(0, op));
    CHECK(DrawsOf(image_op).empty() != TraitsOf(op).draws());
    // A prefix has no random op, and an op that begins a prefix has a key.
    if (!image_op.prefix_key().empty()) {
      CHECK_FALSE(TraitsOf(op).draws());
      CHECK(image_op.prefix_key().front() == op.kind_case());
    }
    if (image_op.may_begin_prefix()) CHECK_FALSE(image_op.prefix_key().empty());
  }
  CHECK(pixel_ops >= 9);
}

TEST_CASE("Equal choices change two targets alike", "[image][image_ops]") {
  proto::RandomCrop message;
  message.set_height(4);
  message.set_width(5);
  const auto op = OpOf(message);
  transform::PhiloxDraws draws({1, 2, 3}, 4);
  const auto drawn = op->Draw({20, 10}, draws);
  REQUIRE_THAT(drawn, IsOk());
  RecordingTarget image({20, 10}), mask({20, 10});
  CHECK_THAT(op->Apply(*drawn, image), IsOk());
  CHECK_THAT(op->Apply(*drawn, mask), IsOk());
  CHECK(image.windows.front().left == mask.windows.front().left);
  CHECK(image.windows.front().top == mask.windows.front().top);
}

}  // namespace
}  // namespace forebay::pipeline::image
