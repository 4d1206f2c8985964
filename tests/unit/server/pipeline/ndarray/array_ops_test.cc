#include "server/pipeline/ndarray/array_ops.h"

#include <string>
#include <vector>

#include "server/pipeline/op_traits.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::pipeline::ndarray {
namespace {

using tests::HasCode;
using tests::IsOk;

// Lists the numbers of choices, and always draws the last choice.
class ListingDraws final : public transform::Draws {
 public:
  float Unit() override {
    counts.push_back(0);
    return 0.25F;
  }
  std::uint64_t Below(std::uint64_t n) override {
    counts.push_back(n);
    return n - 1;
  }

  std::vector<std::uint64_t> counts;
};

// The type of arrays of float32 of the shape (20, 30).
transform::TensorType Matrices() {
  return {.dtype = proto::DType::kFloat32, .shape = {20, 30}, .bytes = 2400};
}

proto::RandomWindow Window(std::uint64_t length, int axis, bool pads = false) {
  proto::RandomWindow op;
  op.set_length(length);
  op.set_axis(axis);
  op.set_pad_if_needed(pads);
  return op;
}

// Returns the op that a message adds to a program for matrices that differ in
// the length of axis 0.
template <typename Message>
std::unique_ptr<const ArrayOp> OpOf(const Message& message) {
  ArrayProgramBuilder builder(Matrices(), 0);
  REQUIRE_THAT(Add(message, builder), IsOk());
  return std::move(builder.Finish().ops.front().op);
}

// Returns the draws of an op for a matrix of the shape (20, 30).
std::vector<std::uint64_t> DrawsOf(const ArrayOp& op) {
  ListingDraws draws;
  CHECK_THAT(op.Draw(ArrayView(Matrices(), nullptr), draws), IsOk());
  return draws.counts;
}

TEST_CASE("A RandomWindow draws if the axis is longer", "[ndarray]") {
  using Counts = std::vector<std::uint64_t>;
  CHECK(DrawsOf(*OpOf(Window(19, 0))) == Counts{2});
  CHECK(DrawsOf(*OpOf(Window(20, 0))).empty());
  CHECK(DrawsOf(*OpOf(Window(20, 1))) == Counts{11});
  CHECK(DrawsOf(*OpOf(Window(21, 0, /*pads=*/true))).empty());
  ListingDraws draws;
  CHECK_THAT(OpOf(Window(21, 0))->Draw(ArrayView(Matrices(), nullptr), draws),
             HasCode(absl::StatusCode::kInvalidArgument));
}

// Gives a message values that suit a matrix: 1, and the axes 1 and 0.
void SetNumbers(google::protobuf::Message* message) {
  using google::protobuf::FieldDescriptor;
  const auto& type = *message->GetDescriptor();
  const auto& reflection = *message->GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* const field = type.field(i);
    if (field->is_repeated()) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_UINT32) continue;
      reflection.AddUInt32(message, field, 1);
      reflection.AddUInt32(message, field, 0);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
      reflection.SetUInt64(message, field, 1);
    }
  }
}

TEST_CASE("An op draws if and only if its options say so", "[ndarray]") {
  const auto& kinds = *proto::Op::GetDescriptor()->oneof_decl(0);
  int array_ops = 0;
  for (int i = 0; i < kinds.field_count(); ++i) {
    proto::Op op;
    SetNumbers(op.GetReflection()->MutableMessage(&op, kinds.field(i)));
    ArrayProgramBuilder builder(Matrices(), std::nullopt);
    // Some ops are for images or audio, or change elements.
    if (!AddAny(op, builder, absl::InternalError("")).ok()) continue;
    const ArrayProgram program = builder.Finish();
    if (program.ops.empty()) continue;
    ++array_ops;
    CAPTURE(OpTitle(0, op));
    CHECK(DrawsOf(*program.ops.front().op).empty() != TraitsOf(op).draws());
  }
  CHECK(array_ops >= 3);
}

TEST_CASE("Equal choices change two arrays alike", "[ndarray]") {
  const auto op = OpOf(Window(4, 0));
  transform::PhiloxDraws draws({1, 2, 3}, 4);
  ArrayView first(Matrices(), nullptr), second(Matrices(), nullptr);
  const auto drawn = op->Draw(first, draws);
  REQUIRE_THAT(drawn, IsOk());
  op->Apply(*drawn, first);
  op->Apply(*drawn, second);
  CHECK(first.axes().front().length == 4);
  CHECK(first.skipped() == second.skipped());
}

TEST_CASE("An op follows an axis", "[ndarray]") {
  proto::Slice slice;
  slice.set_start(-4);
  proto::Transpose transpose;
  transpose.add_order(1);
  transpose.add_order(0);
  const auto part = OpOf(slice), window = OpOf(Window(7, 1)),
             turn = OpOf(transpose);
  CHECK(part->takes_part_of_first_axis());
  CHECK(part->Follow({0, 20}).length == 4);
  CHECK(part->Follow({1, 30}).length == 30);
  CHECK_FALSE(window->takes_part_of_first_axis());
  CHECK(window->Follow({1, 5}).length == 7);
  CHECK_FALSE(turn->takes_part_of_first_axis());
  CHECK(turn->Follow({0, 20}).axis == 1);
  CHECK(turn->Follow({0, 20}).length == 20);
}

}  // namespace
}  // namespace forebay::pipeline::ndarray
