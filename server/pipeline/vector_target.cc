#include "server/pipeline/vector_target.h"

#include <hwy/targets.h>

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/pipeline/transform/convert.h"

namespace forebay::pipeline {
namespace {

// A limit of vector instructions, and its name.
struct Target {
  std::string name;
  // Highway's bit of the widest allowed instructions. Lower bits are wider
  // instructions.
  std::int64_t widest;
};

// Returns all limits: "auto", then Highway's targets for which this binary has
// code, lowest bit first, then "none".
std::vector<Target> Targets() {
  constexpr std::int64_t kPlainCode = HWY_EMU128 | HWY_SCALAR;
  std::vector<Target> targets = {{"auto", 1}};
  for (std::int64_t rest = HWY_TARGETS & ~kPlainCode; rest != 0;
       rest &= rest - 1) {
    const std::int64_t bit = rest & -rest;
    targets.push_back({absl::AsciiStrToLower(hwy::TargetName(bit)), bit});
  }
  targets.push_back({"none", HWY_EMU128});
  return targets;
}

}  // namespace

std::string_view VectorTarget() { return transform::VectorTarget(); }

std::vector<std::string> VectorTargetNames() {
  std::vector<std::string> names;
  for (Target& target : Targets()) names.push_back(std::move(target.name));
  return names;
}

absl::Status LimitVectorTarget(std::string_view name) {
  for (const Target& target : Targets()) {
    if (target.name != name) continue;
    // Disables all lower bits, which are the wider instructions.
    hwy::DisableTargets(target.widest - 1);
    // This must come last: asking Highway what the CPU supports makes it choose
    // from all instructions that the CPU has.
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no vector instructions are called \"",
                   absl::string_view(name.data(), name.size()), "\""));
}

}  // namespace forebay::pipeline
